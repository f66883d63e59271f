import { type StoreDriver, WriteUncertain } from '../../src/payments/driver.ts';
import { createProtocolStore } from '../../src/payments/protocol-store.ts';
import { type PaymentStore, StoreUnavailable } from '../../src/payments/store.ts';
import { createMemoryDriver } from '../../src/payments/stores/memory-store.ts';
import { between } from './choices.ts';
import { epoch } from './virtual-globals.ts';
import type { SimulatedProcess, World } from './world.ts';

export const retentionMs = 30 * 86_400_000;
const timeoutMs = 500;

/** What the replicas' stores are in. */
export interface Database {
  /** What is stored. */
  readonly driver: StoreDriver;
  /** What its own clock is ahead, in milliseconds. */
  clockAheadMs: number;
  goAway(forMs: number): void;
  /** A replica's store. Errors: StoreUnavailable if the database is away. */
  openStore(process: SimulatedProcess): Promise<PaymentStore>;
}

/** A write that is on its way to the database. */
interface Message {
  readonly process: SimulatedProcess;
  isGivenUp: boolean;
  isCancelled: boolean;
}

/**
 * A database that replicas share: rows in memory behind messages that take time, come late, or are lost with their answers when the
 * database goes away. What a caller has given up on may still be executed much later, unless `settleWrites` comes first, as a
 * PostgreSQL backend executes it that nobody waits for any more.
 */
export class SimulatedDatabase implements Database {
  readonly driver: StoreDriver = createMemoryDriver();
  clockAheadMs = 0;
  readonly #world: World;
  readonly #served: StoreDriver;
  readonly #messages = new Set<Message>();
  #calls = 0;
  #awayUntil = 0;
  /** Counts outages: an answer does not survive one. */
  #outages = 0;

  /** `broken`: what a variant makes of it. */
  constructor(world: World, broken: (driver: StoreDriver) => StoreDriver = (driver) => driver) {
    this.#world = world;
    this.#served = broken(this.driver);
  }

  goAway(forMs: number): void {
    this.#outages++;
    this.#awayUntil = Math.max(this.#awayUntil, this.#world.now + forMs);
  }

  openStore(process: SimulatedProcess): Promise<PaymentStore> {
    return createProtocolStore({
      name: 'simulated',
      retentionMs,
      markFiles: [],
      allowVolatile: false,
      countsAreConfirmed: true,
      onEvent: (event) => this.#world.note(`${process.name}: ${event.kind}`),
      open: async () => this.#open(process),
    });
  }

  #open(process: SimulatedProcess): StoreDriver {
    const served = this.#served;
    const read = <T>(name: string, execute: () => Promise<T>) => this.#call(process, name, execute, false);
    const write = <T>(name: string, execute: () => Promise<T>) => this.#call(process, name, execute, true);
    /** The database's own clock. */
    const timed = async <T extends { readonly serverTime: number | null }>(
      result: Promise<T>,
    ): Promise<T> => ({
      ...(await result),
      serverTime: Math.floor(epoch + this.#world.now + this.clockAheadMs),
    });
    return {
      insertIfAbsent: (row) => write('insert', () => timed(served.insertIfAbsent(row))),
      compareAndSet: (id, version, row) => write('replace', () => served.compareAndSet(id, version, row)),
      find: (id) => read('find', () => served.find(id)),
      search: (query) => read('search', () => served.search(query)),
      findMissing: (attempts) => read('findMissing', () => served.findMissing(attempts)),
      purge: (before) => write('purge', () => served.purge(before)),
      count: (before, leaseUntil) => read('count', () => served.count(before, leaseUntil)),
      readMetadata: () => read('readMetadata', () => timed(served.readMetadata())),
      writeMetadata: (version, next) => write('writeMetadata', () => served.writeMetadata(version, next)),
      settleWrites: () =>
        read('settleWrites', async () => {
          await served.settleWrites();
          if (served.settleWrites !== this.driver.settleWrites) return;
          for (const message of this.#messages)
            if (message.process === process && message.isGivenUp) message.isCancelled = true;
        }),
      async close() {},
    };
  }

  #call<T>(process: SimulatedProcess, name: string, execute: () => Promise<T>, isWrite: boolean): Promise<T> {
    const world = this.#world;
    const what = `${name}, call ${++this.#calls} of the database`;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!world.takesEffect(process, what)) return promise;
    const outage = this.#outages;
    const message: Message = { process, isGivenUp: false, isCancelled: false };
    this.#messages.add(message);
    const fail = (reason: string, isCertain: boolean) => {
      message.isGivenUp = true;
      const text = `The payment store simulated is not available: ${reason}.`;
      reject(isWrite && !isCertain ? new WriteUncertain(text) : new StoreUnavailable(text));
    };
    // As startResponseTimeout has it: what arrived while the process was stopped is read before it counts as missing.
    let timeout = setTimeout(() => {
      timeout = setTimeout(() => fail(`no answer in ${timeoutMs} ms`, false), 1);
    }, timeoutMs);
    if (world.now < this.#awayUntil) {
      world.after(1, 'message', process, what, () => fail('connection refused', true));
      return promise;
    }
    const slow = world.choices.departs('late messages', 0.05, `${process.name}: ${what}, is slow`);
    const tookMs = (part: string) => 0.1 + world.choices.random(`${part} ${process.name} ${what}`);
    world.after(tookMs('in') + (slow === null ? 0 : between(20, 20_000, slow)), 'message', null, what, () => {
      this.#messages.delete(message);
      // A statement that a backend has already read is executed also without its connection.
      if (message.isCancelled || (this.#outages !== outage && slow === null))
        return fail('the connection was lost', false);
      const result = execute();
      result.catch(() => {});
      world.after(tookMs('out'), 'message', process, what, () => {
        clearTimeout(timeout);
        if (this.#outages !== outage) fail('the connection was lost', false);
        else result.then(resolve, reject);
      });
    });
    return promise;
  }
}
