import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import { logOptions } from '../../telemetry/log.ts';
import { serveMetrics } from '../../telemetry/metrics-server.ts';
import { createWorkerMetrics } from '../../telemetry/worker-metrics.ts';
import { createAnnouncements } from '../announcements.ts';
import { type CliContext, type Service, takeAll } from '../command.ts';
import { openLogOutput } from '../log-output.ts';
import { closeLostConnections } from './lost-connections.ts';
import { isFromWorker } from './messages.ts';
import { Supervisor, type WorkerEvents, type WorkerProcess } from './supervisor.ts';

/** How long a worker's metrics are waited for before those count that it sent last, in milliseconds. */
const maxMetricsWaitMs = 1000;

/** How long the last message of a worker that has ended is waited for, in milliseconds. */
const maxLastMessageMs = 500;

type Question = PromiseWithResolvers<void> & { isLate: boolean };

/** `bankql` with WORKERS: this process holds the port and the metrics, and the workers serve. Errors: StartError. */
export async function serveFromWorkers({ write, isTerminal }: CliContext, config: Config): Promise<Service> {
  const maxLength = config.memoryBounds.unwrittenLines;
  const logger = pino(logOptions('info', [], config.logTime), openLogOutput(1, true, { maxLength }).stream);
  const announcements = createAnnouncements({ isTerminal, write, logger });
  const metrics = createWorkerMetrics({
    desired: config.workers,
    running: () => supervisor.running,
  });
  /** Workers that serve or are ending: they answer when they are asked for their metrics, those that are starting do not. */
  const answering = new Set<Worker>();
  /** The questions for metrics that are not answered yet: one for each worker, however often metrics are read meanwhile. */
  const asked = new Map<Worker, Question>();

  const { rateLimits } = config;
  const count = rateLimits && (await import('./primary-counters.ts')).createPrimaryCounters(rateLimits);

  function fork({ onReady, onFailed, onExit }: WorkerEvents): WorkerProcess {
    // A file of --env-file may have changed since the start: the port is held by this process, and stays.
    const worker = cluster.fork({ HOST: config.server.host, PORT: config.server.port });
    worker.on('message', (message: unknown) => {
      if (!isFromWorker(message)) return;
      if (message.bankql === 'ready') {
        answering.add(worker);
        onReady(message);
      } else if (message.bankql === 'failed') onFailed(message.words);
      else if (message.bankql === 'count')
        void count?.(message).then((counted) => worker.isConnected() && worker.send(counted, () => {}));
      else if (message.bankql === 'metrics') {
        metrics.update(worker.id, message.metrics);
        endQuestion(worker);
      }
    });
    worker.on('error', (error) => {
      // A message failed, perhaps one of Node's own, because the worker has just ended: its exit says so. Without a process there is
      // no exit.
      if (worker.process.pid !== undefined) return;
      onFailed(messageOf(error));
      onExit(1);
    });
    const leaveWorker = closeLostConnections(worker, () =>
      logger.warn(
        { worker: worker.process.pid },
        'a worker has no file descriptor left: connections to it are closed',
      ),
    );
    // No `once` of node:events: its promises reject at the error above.
    const disconnected = new Promise<void>((resolve) => worker.once('disconnect', resolve));
    const exited = new Promise<number | string>((resolve) =>
      worker.once('exit', (code, signal) => resolve(signal ?? code)),
    );
    void exited.then(async (how) => {
      // Its last message may be read after its end. A worker that dies while a connection is handed to it is never reported
      // as disconnected.
      await Promise.race([disconnected, delay(maxLastMessageMs)]);
      leaveWorker();
      await metrics.retire(worker.id);
      answering.delete(worker);
      endQuestion(worker);
      onExit(how);
    });
    return {
      send(order) {
        if (worker.isConnected()) worker.send({ bankql: order }, () => {});
      },
      get isSilent() {
        return asked.get(worker)?.isLate === true;
      },
    };
  }

  /** Waits for what each worker tells of itself; the metrics of one that does not answer in time are as they were. */
  async function readMetrics(): Promise<string> {
    const answers = Promise.all([...answering].map(askForMetrics)).then(() => false);
    const isLate = await Promise.race([answers, delay(maxMetricsWaitMs, true, { ref: false })]);
    if (isLate) asked.forEach(noteSilence);
    return metrics.text();
  }

  function askForMetrics(worker: Worker): Promise<void> | undefined {
    if (!worker.isConnected()) return;
    let question = asked.get(worker);
    if (question === undefined) {
      question = { ...Promise.withResolvers<void>(), isLate: false };
      asked.set(worker, question);
      worker.send({ bankql: 'metrics' }, () => {});
    }
    return question.promise;
  }

  function endQuestion(worker: Worker): void {
    asked.get(worker)?.resolve();
    asked.delete(worker);
  }

  function noteSilence(question: Question, worker: Worker): void {
    if (question.isLate) return;
    question.isLate = true;
    logger.warn(
      { worker: worker.process.pid },
      'a worker does not answer: it is frozen, or has too much to do',
    );
  }

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
    async stop() {
      announcements.stopping();
      await takeAll([() => supervisor.stop(), () => metricsServer?.close()]);
      announcements.stopped();
    },
    ended: supervisor.ended,
  };
}
