import cluster from 'node:cluster';
import { once } from 'node:events';
import type { CliContext, Service } from '../../commands/command.ts';
import { type BankqlService, serveBankql } from '../app.ts';
import { isOurs, tellPrimary } from './messages.ts';

/** Serves as one of several workers, until the primary tells it to end. Errors: those of serveBankql. */
export async function serveAsWorker(context: CliContext): Promise<Service> {
  const { worker } = cluster;
  /** Resolves with the service; stays pending if the start fails or is given up. */
  const started = Promise.withResolvers<BankqlService>();
  const ended = Promise.withResolvers<void>();

  async function tellMetrics(): Promise<void> {
    const { registry } = await started.promise;
    await tellPrimary({ bankql: 'metrics are', metrics: await registry.getMetricsAsJSON() });
  }

  /** Completes the requests in progress. Connections that this worker has not accepted go back to the primary. */
  async function end(isReplaced: boolean): Promise<void> {
    const { stop } = await started.promise;
    if ((await stop({ isReplaced })) !== 0) await tellPrimary({ bankql: 'outcomes are lost' });
    await tellMetrics();
    if (worker?.isConnected() !== true) return;
    const disconnected = once(worker, 'disconnect');
    worker.disconnect();
    await disconnected;
  }

  const ending = new AbortController();
  const endOnce = (isReplaced: boolean) => {
    if (!ending.signal.aborted) end(isReplaced).then(ended.resolve, ended.reject);
    ending.abort();
  };
  worker?.on('message', (message: unknown) => {
    if (!isOurs(message)) return;
    if (message.bankql === 'metrics') void tellMetrics();
    else if (message.bankql === 'reload') void started.promise.then(({ reload }) => reload());
    else endOnce(message.bankql === 'retire');
  });
  // If the primary was killed, all messages to it fail, including those of Node and of the rate limiter.
  worker?.on('error', () => {});
  await tellPrimary({ bankql: 'starting' });
  const service = await serveBankql(context, { isWorker: true, signal: ending.signal });
  started.resolve(service);
  // If the primary was killed, Node would end this process at once, with its payments in progress.
  worker?.on('disconnect', () => {
    worker.exitedAfterDisconnect = true;
    endOnce(false);
  });
  await tellPrimary({ bankql: 'ready', start: { url: service.url, stateLine: service.stateLine } });
  return { ...service, ended: ended.promise };
}
