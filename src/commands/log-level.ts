import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/start-error.ts';
import { isLogLevel, logLevels } from '../telemetry/log.ts';

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
    throw new ConfigError([
      { variable: 'LOG_LEVEL_FILE', value: logLevelFile, remedy: `it cannot be read: ${error.code}.` },
    ]);
  });
  const level = text.trim() || logLevel;
  if (isLogLevel(level)) return level;
  throw new ConfigError([
    {
      variable: 'LOG_LEVEL_FILE',
      value: logLevelFile,
      remedy: `let it hold one of ${logLevels.join(', ')}.`,
    },
  ]);
}
