import cluster from 'node:cluster';
import { once } from 'node:events';
import type { CliContext, Service } from '../command.ts';
import { type BankqlService, serveBankql } from '../serve.ts';
import { isFromPrimary, tellPrimary } from './messages.ts';

/** Serves as one of several workers, until the primary tells it to end. Errors: what stops a start. */
export async function serveAsWorker(context: CliContext): Promise<Service> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let service: BankqlService | null = null;
  let ending: Promise<void> | null = null;

  function end(isReplaced: boolean): void {
    ending ??= stopAndLeave(isReplaced);
    ending.then(resolve, reject);
  }

  async function stopAndLeave(isReplaced: boolean): Promise<void> {
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
    else if (message.bankql === 'retire' || message.bankql === 'stop') end(message.bankql === 'retire');
  });
  // Messages to a primary that was killed fail, among them Node's own, such as that it has taken a connection.
  cluster.worker?.on('error', () => {});
  const { askPrimaryToCount } = await import('./primary-counters.ts');
  service = await serveBankql(context, askPrimaryToCount());
  // The primary may have been killed: Node would end this process at once, and with it payments that are under way.
  cluster.worker?.on('disconnect', () => {
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    end(false);
  });
  const { url, stateLine } = service;
  if (ending === null) await tellPrimary({ bankql: 'ready', url, stateLine });
  return { ...service, ended };
}
