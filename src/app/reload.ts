import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import { createSerialQueue } from '../queue.ts';

/**
 * Creates the function that SIGHUP calls: it reloads each source. A source that is not configured is null. If a source cannot
 * be used, the previous one stays in use, and the log says so. Requests and payments in progress are not affected.
 * Shape: a function that never rejects. Overlapping calls run one after the other.
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
