import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { messageOf } from '../errors.ts';
import { trimmed } from '../plain-text.ts';
import { createSerialQueue } from '../serial-queue.ts';
import { isLogLevel, logLevels } from '../telemetry/log.ts';

/**
 * The effect of SIGHUP: each source is read again separately; null for one that there is not. If it cannot be used, the
 * one read before stays in use, and the log says so. Requests and payments that are under way notice nothing.
 * Shape: a function that never rejects; calls that overlap are done one after the other.
 */
export function createReload(
  logger: Logger,
  sources: Readonly<Record<string, (() => Promise<void>) | null>>,
): () => Promise<void> {
  async function reload(): Promise<void> {
    const reloaded: string[] = [];
    for (const [what, read] of Object.entries(sources)) {
      if (read === null) continue;
      try {
        await read();
        reloaded.push(what);
      } catch (error) {
        logger.error(
          { what, reason: messageOf(error) },
          'SIGHUP: not reloaded, the previous one stays in use',
        );
      }
    }
    if (reloaded.length > 0) logger.info({ reloaded }, 'SIGHUP: reloaded');
  }

  const reloads = createSerialQueue();
  return () => reloads.run(reload);
}

/**
 * The level of the log: the word in LOG_LEVEL_FILE, which may change while bankql runs; LOG_LEVEL without such a file, or if
 * it is empty.
 * Errors: ConfigError for another word, or a file that cannot be read.
 */
export async function readLogLevel({
  logLevel,
  logLevelFile,
}: Pick<Config, 'logLevel' | 'logLevelFile'>): Promise<string> {
  if (logLevelFile === null) return logLevel;
  const unusable = (remedy: string) =>
    new ConfigError([{ variable: 'LOG_LEVEL_FILE', value: logLevelFile, remedy }]);
  const text = await readFile(logLevelFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unusable(`it cannot be read: ${error.code}; an empty file leaves LOG_LEVEL in force.`);
  });
  const level = trimmed(text) || logLevel;
  if (isLogLevel(level)) return level;
  throw unusable(`let it hold one of ${logLevels.join(', ')}.`);
}
