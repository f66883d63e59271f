import { LRUCache } from 'lru-cache';
import type { Credentials } from '../bank/credentials.ts';
import { hashCaller } from '../payments/record.ts';

/** For how many callers it is kept, at about 300 bytes each: to make one takes about as long as the rest of an operation's line. */
const maxCallers = 10_000;

/** What stands for a caller in the log; null for who names no Auth-Provider-Name and Auth-ID. */
export type CallerHash = (credentials: Credentials | null) => string | null;

/**
 * Hashes of callers that are the same as in the records of payments, so that `payments find` leads from one to the
 * other. A store in memory makes its secret anew at each start, and so do the hashes differ from one process to the next.
 */
export function createCallerHashes(secret: () => string): CallerHash {
  const hashes = new LRUCache<string, string>({ max: maxCallers });
  let usedSecret = secret();
  return (credentials) => {
    const { authProviderName = null, authId = null } = credentials ?? {};
    if (authProviderName === null || authId === null) return null;
    if (usedSecret !== secret()) {
      usedSecret = secret();
      hashes.clear();
    }
    // No credential holds a line's end.
    const name = `${authProviderName}\n${authId}`;
    let hash = hashes.get(name);
    if (hash === undefined) {
      hash = hashCaller(usedSecret, authProviderName, authId);
      hashes.set(name, hash);
    }
    return hash;
  };
}
