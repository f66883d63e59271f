import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { fetch as fetchOver, ProxyAgent } from 'undici';
import { z } from 'zod';

/** How long keys are trusted, and when they are fetched, in milliseconds. */
export interface JwksTimes {
  /** The deadline of a fetch, over connect, headers and body. */
  readonly timeoutMs: number;
  /** The age at which they are fetched again: a revoked key is accepted for at most this long. */
  readonly maxAgeMs: number;
  /** How much longer they are used while they cannot be fetched again. */
  readonly graceMs: number;
  /** How long an unknown key triggers no further fetch, after one that succeeded and after one that failed. */
  readonly cooldownMs: number;
  readonly retryMs: number;
}

const defaultTimes: JwksTimes = {
  timeoutMs: 3000,
  maxAgeMs: 10 * 60_000,
  graceMs: 60 * 60_000,
  cooldownMs: 30_000,
  retryMs: 5000,
};

/** The longest set of keys, in bytes. */
const maxJwksBytes = 256 * 1024;

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** There are no keys to verify with, so it is not known whether a token is valid. */
export class JwksUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

export interface JwksOptions {
  readonly url: string;
  /** The proxy through which they are fetched; null for none. */
  readonly proxyUrl: string | null;
  readonly times?: Partial<JwksTimes> | undefined;
  /** Called with the reason when a fetch fails; it must not throw. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Finds a key; `reload` fetches the set at once and resolves with whether it succeeded: if not, the earlier set stays
 * in use.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean> };

/**
 * Finds the key that a token names in the set at `url`, which is cached. A key that is not in it may be new: the set is
 * then fetched again, one fetch at a time and no more than one per `cooldownMs`.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure }: JwksOptions): Keys {
  const { timeoutMs, maxAgeMs, graceMs, cooldownMs, retryMs } = { ...defaultTimes, ...times };
  const proxy = proxyUrl === null ? null : new ProxyAgent({ uri: proxyUrl, connect: { timeout: timeoutMs } });
  let keys: ReturnType<typeof createLocalJWKSet> | null = null;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let underWay: Promise<void> | null = null;
  const since = (time: number) => performance.now() - time;

  async function load(): Promise<void> {
    try {
      keys = createLocalJWKSet(await fetchKeys(url, timeoutMs, proxy));
      loadedAt = performance.now();
      hasFailed = false;
    } catch (error) {
      hasFailed = true;
      onFailure(error);
    } finally {
      triedAt = performance.now();
      underWay = null;
    }
  }

  /** Fetches the set, unless that was tried just before. */
  async function refresh(): Promise<void> {
    if (underWay === null && since(triedAt) < (hasFailed ? retryMs : cooldownMs)) return;
    underWay ??= load();
    await underWay;
  }

  /** The set. Errors: JwksUnavailable. */
  async function current() {
    if (since(loadedAt) >= maxAgeMs) {
      const refreshed = refresh();
      // While the key server is unavailable, requests that can use the cached keys do not wait for it.
      if (keys === null || !hasFailed) await refreshed;
    }
    if (keys === null || since(loadedAt) >= graceMs) throw new JwksUnavailable('no keys to verify with');
    return keys;
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const known = await current();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await refresh();
    if (hasFailed) throw new JwksUnavailable('the token names a key that may be a new one');
    return (await current())(header, token);
  };

  async function reload(): Promise<boolean> {
    underWay ??= load();
    await underWay;
    return !hasFailed;
  }

  return Object.assign(find, { reload });
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
