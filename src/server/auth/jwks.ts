import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { fetch as fetchOver, ProxyAgent } from 'undici';
import { z } from 'zod';

/** How long keys are trusted, and when they are fetched, in milliseconds. */
const defaultTimes = {
  /** The deadline of a fetch, over connect, headers and body. */
  timeoutMs: 3000,
  /** The age at which they are fetched again: a revoked key is accepted for at most this long. */
  maxAgeMs: 10 * 60_000,
  /** How much longer they are used while they cannot be fetched again. */
  graceMs: 60 * 60_000,
  /** How many fetches unknown keys may trigger at once, and how long it takes until they may trigger one more. */
  attempts: 5,
  attemptMs: 6000,
  /** The pause after a fetch that failed. */
  retryMs: 5000,
  /** The time in milliseconds, from any start. */
  now: () => performance.now(),
};
export type JwksTimes = Readonly<typeof defaultTimes>;

const maxJwksBytes = 256 * 1024;

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** Whether a token is valid is not known: there are no keys, or the token names one that may be new. */
export class JwksUnavailable extends Error {
  override readonly name = 'JwksUnavailable';
  /** After how many seconds it may be known. */
  readonly retryAfter: number;

  constructor(message: string, retryMs: number) {
    super(message);
    this.retryAfter = Math.max(1, Math.ceil(retryMs / 1000));
  }
}

interface JwksOptions {
  readonly url: string;
  /** The proxy through which they are fetched; null for none. */
  readonly proxyUrl: string | null;
  readonly times?: Partial<JwksTimes> | undefined;
  /** Called with the reason when a fetch fails; it must not throw. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Finds a key; `reload` fetches the set at once and resolves with whether it succeeded: if not, the earlier set stays
 * in use. `current` is the number of the set in use; null if it has to be fetched again.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean>; current(): number | null };

/**
 * Finds the key that a token names in the set at `url`, which is cached. A key that is not in it may be new: it is
 * looked for in a set that is fetched after the token came. One fetch is made at a time, and few for unknown keys, since
 * anyone can make up a key's name; those that come when no fetch is left are not refused, since theirs may be the new one.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure }: JwksOptions): Keys {
  const { timeoutMs, maxAgeMs, graceMs, attempts, attemptMs, retryMs, now } = { ...defaultTimes, ...times };
  const proxy = proxyUrl === null ? null : new ProxyAgent({ uri: proxyUrl, connect: { timeout: timeoutMs } });
  let keys: ReturnType<typeof createLocalJWKSet> | null = null;
  /** When the fetch of `keys` began and ended. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let underWay: Promise<void> | null = null;
  let fetched = 0;
  /** From when on all attempts are left; each one that is used defers it. */
  let restedAt = Number.NEGATIVE_INFINITY;
  const since = (time: number) => now() - time;

  async function load(): Promise<void> {
    const begun = now();
    try {
      keys = createLocalJWKSet(await fetchKeys(url, timeoutMs, proxy));
      fetched++;
      askedAt = begun;
      loadedAt = now();
      hasFailed = false;
    } catch (error) {
      hasFailed = true;
      failedAt = now();
      onFailure(error);
    } finally {
      underWay = null;
    }
  }

  /** Fetches the set, unless that failed just before. Shape: whether it succeeded. */
  async function refresh(retryAfterMs = retryMs): Promise<boolean> {
    if (underWay === null && hasFailed && since(failedAt) < retryAfterMs) return false;
    underWay ??= load();
    await underWay;
    return !hasFailed;
  }

  /** The set. Errors: JwksUnavailable. */
  async function current() {
    if (since(loadedAt) >= maxAgeMs) {
      const refreshed = refresh();
      // While the key server is unavailable, requests that can use the cached keys do not wait for it.
      if (keys === null || !hasFailed) await refreshed;
    }
    if (keys === null || since(loadedAt) >= graceMs)
      throw new JwksUnavailable('no keys to verify with', retryMs);
    return keys;
  }

  /** Uses an attempt; returns the milliseconds until there is one, 0 if there was. */
  function waitForAttempt(): number {
    const rested = Math.max(restedAt, now()) + attemptMs;
    const wait = rested - now() - attempts * attemptMs;
    if (wait > 0) return wait;
    restedAt = rested;
    return 0;
  }

  /** Waits until the set is one that was asked for at this time or later. Errors: JwksUnavailable. */
  async function newerThan(time: number): Promise<void> {
    while (askedAt < time) {
      if (underWay === null) {
        const wait = waitForAttempt();
        if (wait > 0) throw new JwksUnavailable('the token names a key that may be a new one', wait);
      }
      if (!(await refresh()))
        throw new JwksUnavailable('the token names a key that may be a new one', retryMs);
    }
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const arrivedAt = now();
    const known = await current();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await newerThan(arrivedAt);
    return (await current())(header, token);
  };

  return Object.assign(find, {
    reload: () => refresh(0),
    current: () => (keys === null || since(loadedAt) >= maxAgeMs ? null : fetched),
  });
}

/** Errors: whatever keeps a set of keys from being read. */
async function fetchKeys(url: string, timeoutMs: number, proxy: ProxyAgent | null) {
  const options = {
    redirect: 'error' as const,
    headers: { Accept: 'application/json, application/jwk-set+json' },
    signal: AbortSignal.timeout(timeoutMs),
  };
  // A dispatcher fits the fetch of its own version of undici, which need not be Node's.
  const response = await (proxy === null
    ? fetch(url, options)
    : fetchOver(url, { ...options, dispatcher: proxy }));
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxJwksBytes) throw new Error(`it is longer than ${maxJwksBytes} bytes`);
    chunks.push(chunk);
  }
  if (response.status !== 200) throw new Error(`it is answered with status ${response.status}`);
  return KeySet.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
}
