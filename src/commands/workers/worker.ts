import cluster from 'node:cluster';
import { once } from 'node:events';
import type { CliContext, Service } from '../command.ts';
import { type BankqlService, serveBankql } from '../serve.ts';
import { isOurs, tellPrimary } from './messages.ts';

/** Serves as one of several workers, until the primary tells it to end. Errors: StartError, as of any start. */
export async function serveAsWorker(context: CliContext): Promise<Service> {
  const { worker } = cluster;
  let service: BankqlService | null = null;
  const ended = Promise.withResolvers<void>();

  async function tellMetrics(): Promise<void> {
    const metrics = await service?.registry.getMetricsAsJSON();
    if (metrics !== undefined) await tellPrimary({ bankql: 'metrics are', metrics });
  }

  /** Completes the requests under way. Connections that this worker has not accepted go back to the primary. */
  async function end(isReplaced: boolean): Promise<void> {
    await service?.stop({ isReplaced });
    await tellMetrics();
    if (worker?.isConnected() !== true) return;
    const disconnected = once(worker, 'disconnect');
    worker.disconnect();
    await disconnected;
  }

  let isEnding = false;
  const endOnce = (isReplaced: boolean) => {
    if (!isEnding) end(isReplaced).then(ended.resolve, ended.reject);
    isEnding = true;
  };
  worker?.on('message', (message: unknown) => {
    if (!isOurs(message)) return;
    if (message.bankql === 'metrics') void tellMetrics();
    else if (message.bankql === 'reload') void service?.reload();
    else endOnce(message.bankql === 'retire');
  });
  // Messages to a primary that was killed fail, also those of Node and of the rate limiter.
  worker?.on('error', () => {});
  service = await serveBankql(context, { isWorker: true });
  // If the primary was killed, Node would end this process at once, and with it payments that are under way.
  worker?.on('disconnect', () => {
    worker.exitedAfterDisconnect = true;
    endOnce(false);
  });
  await tellPrimary({ bankql: 'ready', start: { url: service.url, stateLine: service.stateLine } });
  return { ...service, ended: ended.promise };
}
