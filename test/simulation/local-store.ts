import { type PaymentStore, StoreUnavailable } from '../../src/payments/store.ts';
import { between } from './choices.ts';
import type { SimulatedProcess, World } from './world.ts';

const timeoutMs = 500;

/**
 * A process' way to a store of its machine, such as SQLite: a call may take long, or be executed although its caller was told
 * that it failed; it is never executed late after another call of the same process.
 */
export function createLocalStore(
  world: World,
  process: SimulatedProcess,
  records: PaymentStore,
): PaymentStore {
  let calls = 0;
  let freeAt = 0;

  function call<T>(name: string, execute: () => Promise<T>): Promise<T> {
    const what = `${name}, call ${++calls} of the store`;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!world.takesEffect(process, what)) return promise;
    const slow = world.choices.departs('late messages', 0.05, `${process.name}: ${what}, is slow`);
    const tookMs = (part: string) => 0.1 + world.choices.random(`${part} ${process.name} ${what}`);
    freeAt = Math.max(freeAt, world.now) + tookMs('in') + (slow === null ? 0 : between(20, 20_000, slow));
    const timeout = setTimeout(() => reject(new StoreUnavailable(`no answer in ${timeoutMs} ms`)), timeoutMs);
    // The store's file does not die with the process.
    world.after(freeAt - world.now, 'message', null, what, () => {
      const result = execute();
      world.after(tookMs('out'), 'message', process, what, () => {
        clearTimeout(timeout);
        result.then(resolve, reject);
      });
    });
    return promise;
  }

  return {
    secret: records.secret,
    loss: null,
    acceptLoss: (...args) => call('acceptLoss', () => records.acceptLoss(...args)),
    status: (...args) => call('status', () => records.status(...args)),
    begin: (...args) => call('begin', () => records.begin(...args)),
    finish: (...args) => call('finish', () => records.finish(...args)),
    release: (...args) => call('release', () => records.release(...args)),
    find: (...args) => call('find', () => records.find(...args)),
    search: (...args) => call('search', () => records.search(...args)),
    settle: (...args) => call('settle', () => records.settle(...args)),
    async close() {},
  };
}
