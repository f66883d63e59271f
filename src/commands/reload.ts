import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/start-error.ts';
import { messageOf } from '../errors.ts';
import type { RunningServer } from '../server/server.ts';
import { isLogLevel, logLevels } from '../telemetry/log.ts';

export interface ReloadOptions extends Pick<RunningServer, 'replaceDocuments'> {
  readonly logger: Logger;
  readonly logLevel: () => Promise<string>;
  /** Null if there is no manifest. */
  readonly documents: (() => Promise<Parameters<RunningServer['replaceDocuments']>[0]>) | null;
  /** Fetches the keys that verify tokens, and says whether it could; null where no tokens are verified. */
  readonly reloadKeys: (() => Promise<boolean>) | null;
  /** Reads the certificates for the bank, and uses them; null if no certificates are configured. */
  readonly reloadTls: (() => Promise<void>) | null;
}

/**
 * The effect of SIGHUP: each source is read again separately. If it cannot be used, the one read before stays in use,
 * and the log says so. Requests and payments that are under way notice nothing.
 * Shape: a function that never rejects; calls that overlap are done one after the other.
 */
export function createReload(options: ReloadOptions): () => Promise<void> {
  const { logger, logLevel, documents, replaceDocuments, reloadKeys, reloadTls } = options;
  const sources = new Map<string, () => Promise<void>>();
  sources.set('log level', async () => {
    logger.level = await logLevel();
  });
  if (documents !== null) sources.set('persisted documents', async () => replaceDocuments(await documents()));
  if (reloadKeys !== null)
    sources.set('token keys', async () => {
      if (!(await reloadKeys())) throw new Error('the keys cannot be fetched');
    });
  if (reloadTls !== null) sources.set('bank certificates', reloadTls);

  async function reload(): Promise<void> {
    const reloaded: string[] = [];
    for (const [what, read] of sources) {
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
    logger.info({ reloaded }, 'SIGHUP: reloaded');
  }

  let last = Promise.resolve();
  return () => {
    last = last.then(reload);
    return last;
  };
}

/**
 * The level of the log: the word in LOG_LEVEL_FILE, which may change while bankql runs; LOG_LEVEL if there is no such
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
