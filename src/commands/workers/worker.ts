import cluster from 'node:cluster';
import { once } from 'node:events';
import type { CliContext, Service } from '../command.ts';
import { type BankqlService, serveBankql } from '../serve.ts';
import { isFromPrimary, tellPrimary } from './messages.ts';

/** Serves as one of several workers, until the primary tells it to end. Errors: what stops a start. */
export async function serveAsWorker(context: CliContext): Promise<Service> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let service: BankqlService | null = null;
  let isEnding = false;

  async function end(isReplaced: boolean): Promise<void> {
    if (isEnding) return;
    isEnding = true;
    // During the start nothing is under way yet.
    await service?.stop({ isReplaced });
    await tellMetrics();
    await leave();
  }

  /**
   * Gives connections back that the primary handed over before it heard that this worker takes no more of them: with its exit they
   * would stay open in the primary, and nobody would answer them.
   */
  async function leave(): Promise<void> {
    const { worker } = cluster;
    if (worker?.isConnected() !== true) return;
    const gone = once(worker, 'disconnect');
    worker.disconnect();
    await gone;
  }

  async function tellMetrics(): Promise<void> {
    const metrics = await service?.registry.getMetricsAsJSON();
    if (metrics !== undefined) await tellPrimary({ bankql: 'metrics', metrics });
  }

  cluster.worker?.on('message', (message: unknown) => {
    if (!isFromPrimary(message)) return;
    if (message.bankql === 'metrics') void tellMetrics();
    else if (message.bankql === 'reload') void service?.reload();
    else if (message.bankql === 'retire' || message.bankql === 'stop')
      end(message.bankql === 'retire').then(resolve, reject);
  });
  const { askPrimaryToCount } = await import('./primary-counters.ts');
  service = await serveBankql(context, { isWorker: true, primaryCounters: askPrimaryToCount() });
  // If the primary is killed, Node ends its workers.
  cluster.worker?.on('disconnect', service.flush);
  const { url, stateLine } = service;
  if (!isEnding) await tellPrimary({ bankql: 'ready', url, stateLine });
  return { ...service, ended };
}
