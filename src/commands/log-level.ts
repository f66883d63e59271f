import { readFile } from 'node:fs/promises';
import { type Config, ConfigError } from '../config.ts';
import { isLogLevel, logLevels } from '../server/log.ts';

/**
 * The level of the log: the word in LOG_LEVEL_FILE, which may change while bankql runs; LOG_LEVEL where there is no such
 * file, or nothing in it.
 * Errors: ConfigError for another word, or a file that cannot be read.
 */
export async function readLogLevel({
  logLevel,
  logLevelFile,
}: Pick<Config, 'logLevel' | 'logLevelFile'>): Promise<string> {
  if (logLevelFile === null) return logLevel;
  const text = await readFile(logLevelFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError('LOG_LEVEL_FILE', logLevelFile, `it cannot be read: ${error.code}.`);
  });
  const level = text.trim() || logLevel;
  if (isLogLevel(level)) return level;
  throw new ConfigError('LOG_LEVEL_FILE', logLevelFile, `let it hold one of ${logLevels.join(', ')}.`);
}
