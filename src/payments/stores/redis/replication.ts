import { ErrorReply } from '@redis/client';
import { z } from 'zod';
import type { RedisConnection } from './connection.ts';

/**
 * Waits until the required number of replicas have everything that this connection wrote; a call resolves when they
 * have, within limitMs.
 *
 * WAIT blocks its connection, so only one runs at a time: calls made meanwhile share the next.
 * Errors: an Error if fewer replicas confirm in time, or WAIT is refused; never ErrorReply, since the data is stored.
 */
export function createReplication(
  connection: RedisConnection,
  replicas: number,
  limitMs: number,
): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function wait(): Promise<void> {
    const answer = await connection
      .send(['WAIT', String(replicas), String(limitMs)])
      .catch((error: unknown) =>
        Promise.reject(error instanceof ErrorReply ? new Error(error.message) : error),
      );
    const confirmed = z.number().parse(answer);
    if (confirmed < replicas) throw new Error(`${confirmed} of ${replicas} replicas confirmed it`);
  }

  function start(): Promise<void> {
    const started = wait().finally(() => {
      if (running === started) running = null;
    });
    running = started;
    return started;
  }

  return async () => {
    if (replicas === 0) return;
    if (running === null) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null;
        return start();
      });
    return next;
  };
}
