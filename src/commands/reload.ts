import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import { createSerialQueue } from '../serial-queue.ts';

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
    const isInVain = Object.values(sources).every((read) => read === null);
    if (isInVain) logger.info('SIGHUP: there is nothing to reload');
  }

  const reloads = createSerialQueue();
  return () => reloads.run(reload);
}
