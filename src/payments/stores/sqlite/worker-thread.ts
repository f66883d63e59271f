import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { z } from 'zod';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import {
  type WorkerAnswer,
  type WorkerMessage,
  type WorkerRequest,
  type WorkerSettings,
  workerMessage,
} from './worker-protocol.ts';

/** The maximum number of unanswered calls; more of them mean that the thread hangs (a dead disk), and fail at once. */
const maxUnanswered = 1_000;

export interface ThreadOptions {
  /** The file beside this one that the thread runs. */
  readonly module: 'worker' | 'read-worker';
  readonly settings: WorkerSettings;
  /** How long a call may take where it says nothing else, in milliseconds. */
  readonly timeoutMs: number;
  /** Called with unsolicited messages of the thread. */
  readonly onMessage?: (message: Exclude<WorkerMessage, WorkerAnswer>) => void;
}

interface AskOptions<T> {
  readonly limitMs?: number;
  /** Called with an answer that came after the timeout. */
  readonly late?: (value: T) => void;
}

export interface WorkerThread<Call> {
  /** Errors: StoreUnavailable that names the file and the reason. */
  ask<T>(call: Call, shape: z.ZodType<T>, options?: AskOptions<T>): Promise<T>;
  /** Ends the thread once `last` is done, which follows all calls before it; later calls fail. */
  end(last: () => Promise<unknown>): Promise<void>;
}

/** TypeScript where the sources run, JavaScript in the package. */
const fileOf = (module: string) => new URL(`${module}${extname(import.meta.url)}`, import.meta.url);

/** A thread that answers calls about a SQLite store's file. It is started by a call where there is none: also after one died. */
export function createWorkerThread<Call extends { readonly method: string }>({
  module,
  settings,
  timeoutMs,
  onMessage,
}: ThreadOptions): WorkerThread<Call | { readonly method: 'close' }> {
  const unanswered = new Map<number, (answer: WorkerAnswer) => void>();
  let worker: Worker | null = null;
  let lastId = 0;
  let closing = false;

  function startWorker(): Worker {
    const started = new Worker(fileOf(module), { workerData: settings });
    let reason = 'its worker thread ended';
    started.on('message', (message: unknown) => {
      const { data } = workerMessage.safeParse(message);
      if (data === undefined) return;
      if ('ok' in data) unanswered.get(data.id)?.(data);
      else onMessage?.(data);
    });
    started.on('error', (error: unknown) => {
      reason = `its worker thread failed: ${error instanceof Error ? error.message : String(error)}`;
    });
    started.on('exit', () => {
      worker = null;
      for (const [id, answer] of unanswered) answer({ id, ok: false, reason });
    });
    // After adding the listeners, because a message listener refs the thread again.
    started.unref();
    return started;
  }

  function unavailable(reason: string): StoreUnavailable {
    return new StoreUnavailable(`The payment store ${settings.path} is not available: ${reason}.`);
  }

  return {
    ask<T>(
      call: Call | { readonly method: 'close' },
      shape: z.ZodType<T>,
      { limitMs = timeoutMs, late }: AskOptions<T> = {},
    ): Promise<T> {
      return new Promise((resolve, reject) => {
        if (closing && call.method !== 'close') throw unavailable('it is closed');
        if (unanswered.size >= maxUnanswered) throw unavailable('its worker thread does not answer');
        const id = ++lastId;
        const claim = new Int32Array(new SharedArrayBuffer(4));
        let gaveUp = false;
        worker ??= startWorker();
        worker.postMessage({ id, claim, call } satisfies WorkerRequest<unknown>);
        const timeout = startResponseTimeout(limitMs, () => {
          gaveUp = true;
          Atomics.compareExchange(claim, 0, 0, 1);
          reject(unavailable(`no answer in ${limitMs} ms`));
        });
        unanswered.set(id, (answer) => {
          unanswered.delete(id);
          timeout.clear();
          if (!answer.ok) return reject(unavailable(answer.reason));
          const value = shape.safeParse(answer.value);
          if (!value.success) return reject(unavailable('it holds a record of another shape'));
          return gaveUp ? late?.(value.data) : resolve(value.data);
        });
      });
    },

    async end(last) {
      if (worker === null) {
        closing = true;
        return;
      }
      const ended = worker;
      const done = last().then(
        () => true,
        () => false,
      );
      closing = true;
      // A thread that hangs in a system call cannot be terminated, so it is not awaited.
      if (await done) await ended.terminate();
      else void ended.terminate();
    },
  };
}
