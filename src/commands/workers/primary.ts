import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Config } from '../../config/config.ts';
import { logOptions } from '../../telemetry/log.ts';
import { serveMetrics } from '../../telemetry/metrics-server.ts';
import { createWorkerMetrics } from '../../telemetry/worker-metrics.ts';
import { createAnnouncements } from '../announcements.ts';
import { type CliContext, type Service, takeAll } from '../command.ts';
import { openLogOutput } from '../log-output.ts';
import { isFromWorker } from './messages.ts';
import { Supervisor, type WorkerEvents, type WorkerProcess } from './supervisor.ts';

/** How long a worker's metrics are waited for before those count that it told last, in milliseconds. */
const maxMetricsWaitMs = 1000;

/** How long the last message of a worker that has ended is waited for, in milliseconds. */
const maxLastMessageMs = 500;

/** `bankql` with WORKERS: this process holds the port and the metrics, and the workers serve. Errors: StartError. */
export async function serveFromWorkers({ write, isTerminal }: CliContext, config: Config): Promise<Service> {
  const maxLength = config.memoryBounds.unwrittenLines;
  const logger = pino(
    logOptions('info', [], config.logTime),
    openLogOutput(1, true, { maxLength, isShared: true }).stream,
  );
  const announcements = createAnnouncements({ isTerminal, write, logger });
  const metrics = createWorkerMetrics({
    desired: config.workers,
    running: () => supervisor.ready,
  });
  /** Workers by their ids, with what waits for their metrics. */
  const asked = new Map<Worker, () => void>();

  const { rateLimits } = config;
  const count = rateLimits && (await import('./primary-counters.ts')).createPrimaryCounters(rateLimits);

  function fork({ onReady, onFailed, onExit }: WorkerEvents): WorkerProcess {
    // A file of --env-file may have changed since the start: the port is held by this process, and stays.
    const worker = cluster.fork({ HOST: config.server.host, PORT: config.server.port });
    worker.on('message', (message: unknown) => {
      if (!isFromWorker(message)) return;
      if (message.bankql === 'ready') onReady(message);
      else if (message.bankql === 'failed') onFailed(message.words);
      else if (message.bankql === 'count')
        void count?.(message).then((counted) => worker.isConnected() && worker.send(counted, () => {}));
      else if (message.bankql === 'metrics') {
        metrics.update(worker.id, message.metrics);
        asked.get(worker)?.();
      }
    });
    const disconnected = once(worker, 'disconnect');
    void once(worker, 'exit').then(async ([code, signal]) => {
      // Its last message may be read after its end. A worker that dies while a connection is handed to it is never reported
      // as disconnected.
      await Promise.race([disconnected, delay(maxLastMessageMs)]);
      await metrics.retire(worker.id);
      asked.get(worker)?.();
      onExit(signal ?? code);
    });
    return {
      send(order) {
        if (worker.isConnected()) worker.send({ bankql: order }, () => {});
      },
    };
  }

  /** Waits for what each worker tells of itself; one that is too busy to tell is as it was. */
  async function readMetrics(): Promise<string> {
    const answers = Object.values(cluster.workers ?? {}).map((worker) => askForMetrics(worker));
    await Promise.race([Promise.all(answers), delay(maxMetricsWaitMs, undefined, { ref: false })]);
    return metrics.text();
  }

  const askForMetrics = (worker: Worker | undefined) =>
    new Promise<void>((resolve) => {
      if (worker?.isConnected() !== true) return resolve();
      const previous = asked.get(worker);
      asked.set(worker, () => {
        asked.delete(worker);
        previous?.();
        resolve();
      });
      worker.send({ bankql: 'metrics' }, () => {});
    });

  const supervisor = new Supervisor({ workers: config.workers, fork, logger, onCrash: metrics.onCrash });
  const metricsServer =
    config.metrics &&
    (await serveMetrics({ contentType: metrics.contentType, metrics: readMetrics }, config.metrics));
  const { url, stateLine } = await supervisor.start();
  announcements.started({
    url,
    metricsUrl: metricsServer?.url ?? null,
    sandboxUrl: null,
    bankUrl: config.bank?.baseUrl ?? '',
    stateLine,
    config,
  });
  return {
    reload: async () => supervisor.reload(),
    replaceWorkers: () => supervisor.replace(),
    // Each worker does that for itself.
    flush() {},
    async stop() {
      announcements.stopping();
      await takeAll([() => supervisor.stop(), () => metricsServer?.close()]);
      announcements.stopped();
    },
    ended: supervisor.ended,
  };
}
