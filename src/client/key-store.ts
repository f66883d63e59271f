import { wait } from './waits.ts';

/** Storage with the methods of `localStorage`, `sessionStorage` and React Native's AsyncStorage. */
export interface KeyStorage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, value: string): unknown;
  removeItem(name: string): unknown;
}

/** The Web Locks of browsers. Pages that were not loaded by HTTPS, old WebViews and React Native have no such locks. */
interface Locks {
  request<T>(name: string, run: () => Promise<T>): Promise<T>;
}

/** The last change of each intent's key in this JavaScript context, shared by all calls of createPayments. */
const changes = new Map<string, Promise<unknown>>();

/**
 * Without locks, a written key is read back after this time, in milliseconds. By then, another tab that also
 * found no key has written its own key, and both tabs use the one that was written last.
 */
const settleMs = 50;

/**
 * A key of 128 random bits. crypto.randomUUID is not used, because browsers have it only on pages that were loaded by
 * HTTPS.
 */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/**
 * Keeps each intent's idempotency key. Errors: TypeError if random keys cannot be created. The methods fail with the storage's
 * errors.
 */
export function createKeyStore(storage: KeyStorage, randomId: () => string = randomKey) {
  if (randomId === randomKey && globalThis.crypto?.getRandomValues === undefined)
    throw new TypeError(
      'There is no crypto.getRandomValues: give createPayments the option `randomId`, such as randomUUID of expo-crypto.',
    );
  const nameOf = (intent: string) => `bankql:payment:${intent}`;
  // Some storages return '' for a name that they do not contain. No key is empty.
  const find = async (intent: string) => (await storage.getItem(nameOf(intent))) || null;
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {};

  /** Runs the changes of an intent's key one after another, so that two screens or tabs do not create two keys. */
  function alone<T>(intent: string, run: () => Promise<T>): Promise<T> {
    const name = nameOf(intent);
    const last = changes.get(name) ?? Promise.resolve();
    const change = last.then(() => (locks ? locks.request(name, run) : run()));
    const end = change
      .catch(() => {})
      .then(() => {
        if (changes.get(name) === end) changes.delete(name);
      });
    changes.set(name, end);
    return change;
  }

  return {
    /** The stored key after the changes in progress; null if no key is stored. */
    find: (intent: string) => alone(intent, () => find(intent)),
    /** The stored key, or a new one, which is stored before anybody can send it. */
    open: (intent: string) =>
      alone(intent, async () => {
        const stored = await find(intent);
        if (stored !== null) return { key: stored, isNew: false };
        const key = randomId();
        if (typeof key !== 'string' || key === '') throw new TypeError('`randomId` did not return a text.');
        await storage.setItem(nameOf(intent), key);
        if (!locks) await wait(settleMs);
        const settled = await find(intent);
        if (settled === null) throw new Error('The storage did not keep the key of the payment.');
        return { key: settled, isNew: settled === key };
      }),
    /** Removes a key, if it is still the stored one. */
    drop: (intent: string, key?: string) =>
      alone(intent, async () => {
        if (key === undefined || (await find(intent)) === key) await storage.removeItem(nameOf(intent));
      }),
  };
}
