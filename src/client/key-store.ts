/** `localStorage`, `sessionStorage`, React Native's AsyncStorage, or three functions of one's own. */
export interface KeyStorage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, value: string): unknown;
  removeItem(name: string): unknown;
}

/** Locks of the browser, where it has them: other tabs share the storage. */
interface Locks {
  request<T>(name: string, run: () => Promise<T>): Promise<T>;
}

/** Keeps each intent's idempotency key. Errors: those of the storage. */
export function createKeyStore(storage: KeyStorage, newKey: () => string) {
  const nameOf = (intent: string) => `bankql:payment:${intent}`;
  const find = async (intent: string) => (await storage.getItem(nameOf(intent))) ?? null;
  /** What an intent's key is changed by waits for its turn: two tabs must not make a key each. */
  async function alone<T>(intent: string, run: () => Promise<T>): Promise<T> {
    const { navigator } = globalThis as { navigator?: { locks?: Locks } };
    return navigator?.locks ? navigator.locks.request(nameOf(intent), run) : run();
  }

  return {
    find,
    /** The key that is kept, or a new one, which is kept before anybody can send it. */
    open: (intent: string) =>
      alone(intent, async () => {
        const kept = await find(intent);
        if (kept !== null) return { key: kept, isNew: false };
        const key = newKey();
        await storage.setItem(nameOf(intent), key);
        return { key, isNew: true };
      }),
    /** Forgets a key, where it still is the one that is kept. */
    drop: (intent: string, key?: string) =>
      alone(intent, async () => {
        if (key === undefined || (await find(intent)) === key) await storage.removeItem(nameOf(intent));
      }),
  };
}
