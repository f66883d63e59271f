import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf, StartError } from '../../errors.ts';
import { createSerialQueue } from '../../serial-queue.ts';
import type { Order, ServiceStart } from './messages.ts';

export interface WorkerProcess {
  send(order: Order): void;
  /** It did not answer in time when it was asked last. */
  readonly isSilent: boolean;
}

export interface WorkerEvents {
  onReady(start: ServiceStart): void;
  /** It cannot start, and says why; its end follows. */
  onFailed(words: string): void;
  /** `how`: its exit code, or the signal that ended it. */
  onExit(how: number | string): void;
}

interface SupervisorOptions {
  readonly workers: number;
  readonly fork: (events: WorkerEvents) => WorkerProcess;
  readonly logger: Logger;
  readonly onCrash: () => void;
  /** The unit of the waits between attempts, in milliseconds (default: a second). */
  readonly backoffMs?: number;
}

/** One of the workers, by whichever process it is served at the moment. */
interface Slot {
  member: Member | null;
  /** Attempts in a row that failed, or served for a moment only. */
  failures: number;
  /** Another process is about to take the place of its own. */
  isReplacing: boolean;
}

interface Member {
  readonly child: WorkerProcess;
  readonly readyAt: number;
  isEnding: boolean;
}

/** A worker that served this long did not end because of its start, in milliseconds. */
const stableMs = 10_000;
/** The longest wait, in units. */
const maxBackoff = 30;
/** So many attempts in a row fail while none serves, and the whole ends. */
const maxFailures = 4;

/**
 * Keeps so many workers serving: one that ends is replaced, at once for the first time, and then after waits that double,
 * so that one that cannot start does not spin.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #slots: readonly Slot[];
  /** Those that have not ended, and how they will. */
  readonly #running = new Map<WorkerProcess, Promise<number | string>>();
  readonly #gaveUp = Promise.withResolvers<void>();
  readonly #replacements = createSerialQueue();
  #isStopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.workers }, () => ({
      member: null,
      failures: 0,
      isReplacing: false,
    }));
  }

  /** Rejects if no worker serves and none can start, with the words of the last one; never resolves. Errors: StartError. */
  get ended(): Promise<void> {
    return this.#gaveUp.promise;
  }

  get ready(): number {
    return this.#slots.filter(({ member }) => member !== null).length;
  }

  /** Those that serve and answer the primary. */
  get running(): number {
    return this.#slots.filter(({ member }) => member?.child.isSilent === false).length;
  }

  /** Starts them. Shape: what the first one told. Errors: StartError if that one cannot start, in its words. */
  async start(): Promise<ServiceStart> {
    const [first, ...others] = this.#slots;
    if (first === undefined) throw new RangeError('There has to be one worker at least.');
    // A failure that stops one worker would stop them all, and is reported once.
    const start = await this.#launch(first);
    await Promise.all(
      others.map(async (slot) => {
        if (!(await this.#attempt(slot))) void this.#revive(slot);
      }),
    );
    return start;
  }

  /** Tells those that serve. */
  reload(): void {
    for (const { member } of this.#slots) member?.child.send('reload');
  }

  /**
   * Puts a new worker in the place of each, one after the other: the old one ends when the new one serves. If a new one
   * cannot start, the old ones go on. Never rejects; calls that overlap are done one after the other.
   */
  replace(): Promise<void> {
    return this.#replacements.run(() => this.#replaceAll());
  }

  /** Ends all of them. Errors: an Error if one ended with a failure. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const child of this.#running.keys()) child.send('stop');
    const unclean = (await Promise.all(this.#running.values())).filter((how) => how !== 0);
    if (unclean.length > 0) throw new Error(`Workers ended with ${unclean.join(', ')}.`);
  }

  /** Starts a process for a slot, and waits until it serves. Errors: StartError if it ends instead. */
  #launch(slot: Slot): Promise<ServiceStart> {
    return new Promise((resolve, reject) => {
      const { promise: end, resolve: exited } = Promise.withResolvers<number | string>();
      let member: Member | null = null;
      let words: string | null = null;
      const child = this.#options.fork({
        onReady: (start) => {
          member = { child, readyAt: performance.now(), isEnding: false };
          slot.member = member;
          resolve(start);
        },
        onFailed: (given) => {
          words = given;
        },
        onExit: (how) => {
          this.#running.delete(child);
          exited(how);
          if (member !== null) this.#onEnd(slot, member, how);
          else reject(new StartError(words ?? `A worker ended (${how}) before it served.`));
        },
      });
      this.#running.set(child, end);
    });
  }

  #onEnd(slot: Slot, member: Member, how: number | string): void {
    if (slot.member === member) slot.member = null;
    if (member.isEnding || this.#isStopping) return;
    const { logger, onCrash } = this.#options;
    onCrash();
    logger.error({ how }, 'a worker ended: another takes its place');
    slot.failures = performance.now() - member.readyAt < stableMs ? slot.failures + 1 : 1;
    if (!slot.isReplacing) void this.#revive(slot);
  }

  async #revive(slot: Slot): Promise<void> {
    do await delay(this.#waitBefore(slot));
    while (!this.#isStopping && !(await this.#attempt(slot)));
    if (slot.member !== null) this.#options.logger.info('another worker has taken its place');
  }

  #waitBefore({ failures }: Slot): number {
    const units = failures <= 1 ? 0 : Math.min(2 ** (failures - 2), maxBackoff);
    return units * (this.#options.backoffMs ?? 1000);
  }

  /** Whether there is nothing left to try. */
  async #attempt(slot: Slot): Promise<boolean> {
    try {
      await this.#launch(slot);
      return true;
    } catch (error) {
      if (this.#isStopping) return true;
      slot.failures++;
      this.#options.logger.error({ reason: messageOf(error) }, 'a worker cannot start');
      if (this.ready > 0 || slot.failures < maxFailures) return false;
      this.#isStopping = true;
      this.#gaveUp.reject(error);
      return true;
    }
  }

  async #replaceAll(): Promise<void> {
    const { logger } = this.#options;
    for (const slot of this.#slots) {
      const old = slot.member;
      // One that is about to start will be a new one.
      if (old === null) continue;
      slot.isReplacing = true;
      try {
        await this.#launch(slot);
      } catch (error) {
        if (this.#isStopping) return;
        logger.error(
          { reason: messageOf(error) },
          'SIGUSR2: a new worker cannot start, those that serve go on',
        );
        return;
      } finally {
        slot.isReplacing = false;
        if (slot.member === null && !this.#isStopping) void this.#revive(slot);
      }
      old.isEnding = true;
      old.child.send('retire');
      if (this.#isStopping) return;
    }
    logger.info({ workers: this.ready }, 'SIGUSR2: every worker is a new one');
  }
}
