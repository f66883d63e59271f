import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { type CliContext, type Service, takeAll } from '../../commands/command.ts';
import type { Config } from '../../config/config.ts';
import { messageOf, StartError } from '../../errors.ts';
import { createSerialQueue } from '../../queue.ts';
import { logOptions } from '../../telemetry/log.ts';
import { serveMetrics } from '../../telemetry/metrics-server.ts';
import { createWorkerMetrics } from '../../telemetry/worker-metrics.ts';
import { createAnnouncements } from '../announcements.ts';
import { openLogOutput } from '../log-output.ts';
import { isOurs, type Message, type ServiceStart } from './messages.ts';

/** The time for which the primary waits for a worker's metrics, in milliseconds. Afterwards, the previous metrics are used. */
const maxMetricsWaitMs = 1000;
/** If a worker served for this long, in milliseconds, its start was not the cause of its end. */
const stableMs = 10_000;
/** The longest pause before another attempt to start a worker, in seconds. */
const maxPauseSeconds = 30;

/**
 * `bankql` with WORKERS: starts the workers, which serve, and replaces those that end. It returns before the first worker
 * serves, so that a stop is possible during the start. Errors: StartError; if the first worker cannot start, `ended` rejects
 * with it.
 */
export async function serveFromWorkers({ write, isTerminal }: CliContext, config: Config): Promise<Service> {
  const maxLength = config.limits.unwrittenLogBytes;
  const logger = pino(logOptions('info'), openLogOutput(1, true, { maxLength }).stream);
  const announcements = createAnnouncements({ isTerminal, write, logger });
  const metrics = createWorkerMetrics(config.workers);
  if (config.rateLimit !== null) new (await import('rate-limiter-flexible')).RateLimiterClusterMaster();
  const states = new Map<Worker, 'starting' | 'serving' | 'ending'>();
  const replacements = createSerialQueue();
  let isStopping = false;
  /** 1 if the payment store lacks outcomes of a worker, or if a worker was killed during the stop. */
  let exitCode: 0 | 1 = 0;
  /** Resolves when a stop has begun and every worker has ended. */
  const allEnded = Promise.withResolvers<void>();

  const workersThat = (...are: string[]) =>
    [...states].flatMap(([worker, is]) => (are.includes(is) ? [worker] : []));
  // A message to a worker that has just ended fails. The failure is ignored, because the exit is handled. A process that could
  // not be created has no channel.
  const tell = (worker: Worker, message: Message) => worker.isConnected() && worker.send(message, () => {});
  const forget = (worker: Worker) => {
    states.delete(worker);
    if (isStopping && states.size === 0) allEnded.resolve();
  };

  /**
   * Starts a worker; `failures`: the number of failed attempts before. Errors: StartError with the worker's message, if it ends
   * before it serves.
   */
  const launch = (failures: number) =>
    new Promise<ServiceStart>((resolve, reject) => {
      // HOST and PORT are passed on, because a file of --env-file may have changed since the start and the port must stay.
      const worker = cluster.fork({ HOST: config.server.host, PORT: config.server.port });
      let words: string | null = null;
      let readyAt = 0;
      states.set(worker, 'starting');
      worker.on('message', (message: unknown) => {
        if (!isOurs(message)) return;
        if (message.bankql === 'cannot start') words = message.reason;
        if (message.bankql === 'metrics are')
          worker.emit('metrics', metrics.update(worker.id, message.metrics));
        if (message.bankql === 'outcomes are lost') exitCode = 1;
        if (message.bankql === 'starting' && isStopping) tell(worker, { bankql: 'stop' });
        if (message.bankql !== 'ready') return;
        readyAt = performance.now();
        states.set(worker, 'serving');
        resolve(message.start);
      });
      worker.on('error', (error) => {
        // Only a worker whose process could not be created is handled here, because it emits no `exit`.
        if (worker.process.pid !== undefined) return;
        forget(worker);
        reject(new StartError(messageOf(error)));
      });
      worker.on('exit', (code, signal) => {
        const state = states.get(worker);
        forget(worker);
        // Node does not always notice that the worker's channel is closed, and would pass connections to the worker.
        worker.disconnect();
        // The worker's metrics are kept for a while, because its last message may be read after its end.
        void delay(maxMetricsWaitMs).then(() => metrics.retire(worker.id));
        const how = signal ?? code;
        reject(new StartError(words ?? `A worker ended (${how}) before it served.`));
        const isEnding = state === 'ending' || isStopping;
        // A worker that was not serving yet has lost nothing, however it ended.
        if (state === 'starting' || (isEnding && code === 0)) return;
        metrics.onCrash();
        if (isEnding) {
          if (isStopping) exitCode = 1;
          return logger.error({ how }, 'a worker ended before its requests and payments had ended');
        }
        logger.error({ how }, 'a worker ended: another takes its place');
        void revive(performance.now() - readyAt < stableMs ? failures + 1 : 0).then(
          () => isStopping || logger.info('another worker has taken its place'),
        );
      });
    });

  /** Starts a worker if one is missing, and tries again until it serves. */
  async function revive(failures: number): Promise<void> {
    await delay(1000 * Math.min(2 ** failures - 1, maxPauseSeconds));
    if (isStopping || workersThat('starting', 'serving').length >= config.workers) return;
    await launch(failures).catch((error: unknown) => {
      if (!isStopping) logger.error({ reason: messageOf(error) }, 'a worker cannot start');
      return revive(failures + 1);
    });
  }

  /** Replaces the workers that serve, one by one: starts a new worker, and then ends the old one. */
  async function replaceAll(): Promise<void> {
    for (const old of workersThat('serving')) {
      try {
        await launch(0);
      } catch (error) {
        const line = { reason: messageOf(error) };
        if (!isStopping) logger.error(line, 'SIGUSR2: a new worker cannot start, those that serve go on');
        return revive(0);
      }
      if (isStopping) return;
      // The old worker may have ended in the meantime.
      if (!states.has(old)) continue;
      states.set(old, 'ending');
      tell(old, { bankql: 'retire' });
    }
    if (!isStopping) logger.info({ workers: config.workers }, 'SIGUSR2: all workers have been replaced');
  }

  /** Asks each worker for its metrics. A worker that does not answer in time counts as not running. */
  async function readMetrics(): Promise<string> {
    const signal = AbortSignal.timeout(maxMetricsWaitMs);
    const isRunning = async (worker: Worker) => {
      tell(worker, { bankql: 'metrics' });
      const answer = await once(worker, 'metrics', { signal }).catch(() => null);
      if (answer === null && states.has(worker))
        logger.warn(
          { worker: worker.process.pid },
          'a worker does not answer: it is frozen, or has too much to do',
        );
      return answer !== null && states.get(worker) === 'serving';
    };
    const running = await Promise.all(workersThat('serving', 'ending').map(isRunning));
    return metrics.text(running.filter(Boolean).length);
  }

  async function start(): Promise<void> {
    // The first worker is started alone: a failure that would stop every worker is then reported once.
    const { url, stateLine } = await launch(0);
    await Promise.all(Array.from({ length: config.workers - 1 }, () => revive(0)));
    if (isStopping) return;
    const metricsUrl = metricsServer?.url ?? null;
    const bankUrl = config.bank?.baseUrl ?? '';
    announcements.started({ url, metricsUrl, sandboxUrl: null, bankUrl, stateLine, config });
  }

  async function stopWorkers(): Promise<void> {
    isStopping = true;
    for (const worker of states.keys()) tell(worker, { bankql: 'stop' });
    if (states.size > 0) await allEnded.promise;
  }

  const metricsServer =
    config.metrics &&
    (await serveMetrics({ contentType: metrics.contentType, metrics: readMetrics }, config.metrics));
  // The start is in the queue of replacements, so that SIGUSR2 replaces no worker before all have started.
  const started = replacements.run(start);
  return {
    async reload() {
      for (const worker of workersThat('serving')) tell(worker, { bankql: 'reload' });
    },
    replaceWorkers: () => replacements.run(replaceAll),
    async stop() {
      announcements.stopping();
      await takeAll([stopWorkers, () => metricsServer?.close()]);
      announcements.stopped();
      return exitCode;
    },
    ended: new Promise((_resolve, reject) => started.catch((error) => isStopping || reject(error))),
  };
}
