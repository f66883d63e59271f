import { createPublicKey } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose';
import { fetch as fetchOver, ProxyAgent } from 'undici';
import { z } from 'zod';

/** How long keys are trusted, and when they are fetched, in milliseconds. */
const defaultTimes = {
  /** The deadline of a fetch, over connect, headers and body. */
  timeoutMs: 3000,
  /** The age at which they are fetched again: a revoked key is accepted for at most this long. */
  maxAgeMs: 10 * 60_000,
  /** The age up to which they are used while they cannot be fetched again. */
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
  /** Called with the number of entries that are no usable keys, when it changes; it must not throw. */
  readonly onSkipped?: ((entries: number) => void) | undefined;
}

/**
 * Finds a key; `reload` fetches the set at once and resolves with whether it succeeded: if not, the earlier set stays
 * in use. `current` is the number of the set in use; null if it has to be fetched again.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean>; current(): number | null };

/**
 * Finds the key of a token in the set at `url`. jose fetches the set, one fetch at a time, and keeps it; this function decides
 * when. A key that is not in the set may be new, so the set is fetched again after the token came. Anybody can make up a key's
 * name, so these fetches are few. While none is left, a token with an unknown key is not refused: its key may be the new one.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure, onSkipped }: JwksOptions): Keys {
  const { timeoutMs, maxAgeMs, graceMs, attempts, attemptMs, retryMs, now } = { ...defaultTimes, ...times };
  const proxy = proxyUrl === null ? null : new ProxyAgent({ uri: proxyUrl, connect: { timeout: timeoutMs } });
  /** When the fetch of the set in use began and ended. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let loadedAt = Number.NEGATIVE_INFINITY;
  /** When the last fetch failed; null if it did not. */
  let failedAt: number | null = null;
  let fetched = 0;
  let skipped = 0;
  /** From when on all attempts are left; each one that is used defers it. */
  let restedAt = Number.NEGATIVE_INFINITY;
  const since = (time: number) => now() - time;

  const load: FetchImplementation = async (address, init) => {
    const begun = now();
    try {
      const { keys, dropped } = await fetchKeys(address, init, proxy);
      if (dropped !== skipped) onSkipped?.(dropped);
      [askedAt, loadedAt, failedAt, skipped] = [begun, now(), null, dropped];
      fetched++;
      return Response.json({ keys });
    } catch (error) {
      failedAt = now();
      onFailure(error);
      throw error;
    }
  };
  // jose itself never finds the set too old, nor fetches it for an unknown key: it has no limit for an outage.
  const options = { timeoutDuration: timeoutMs, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const jwks = createRemoteJWKSet(new URL(url), { ...options, [customFetch]: load });

  /** Fetches the set, unless that failed just before. Shape: whether it succeeded. */
  async function refresh(pauseMs = retryMs): Promise<boolean> {
    if (!jwks.reloading && failedAt !== null && since(failedAt) < pauseMs) return false;
    return jwks.reload().then(
      () => true,
      () => false,
    );
  }

  /** Fetches the set if it is too old. Errors: JwksUnavailable. */
  async function renew(): Promise<void> {
    if (since(loadedAt) >= maxAgeMs) {
      const refreshed = refresh();
      // While the key server is unavailable, requests that can use the cached keys do not wait for it.
      if (failedAt === null || since(loadedAt) >= graceMs) await refreshed;
    }
    if (since(loadedAt) >= graceMs) throw new JwksUnavailable('no keys to verify with', retryMs);
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
      const wait = jwks.reloading ? 0 : waitForAttempt();
      if (wait > 0 || !(await refresh()))
        throw new JwksUnavailable('the token names a key that may be a new one', wait > 0 ? wait : retryMs);
    }
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const arrivedAt = now();
    await renew();
    try {
      return await jwks(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await newerThan(arrivedAt);
    return jwks(header, token);
  };

  return Object.assign(find, {
    reload: () => refresh(0),
    current: () => (since(loadedAt) >= maxAgeMs ? null : fetched),
  });
}

const KeySet = z.looseObject({ keys: z.array(z.unknown()) });
const Key = z.looseObject({ kty: z.string() });

/** The types of keys that can verify tokens. Others, and those for encryption, are for other readers of the set. */
const verifying: ReadonlySet<unknown> = new Set(['EC', 'RSA', 'OKP']);

/** Whether a key can be read, as far as it could verify tokens. */
function isReadable(key: z.infer<typeof Key>): boolean {
  if (!verifying.has(key.kty) || key.use === 'enc') return true;
  try {
    return createPublicKey({ key, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}

/**
 * Shape:  the keys of the set, and how many other entries it has. With one of these, jose could verify no token at all.
 * Errors: whatever keeps a set of keys from being read, also that none of its entries is a key.
 */
async function fetchKeys(url: string, init: Parameters<FetchImplementation>[1], proxy: ProxyAgent | null) {
  // A dispatcher fits the fetch of its own version of undici, which need not be Node's.
  const response = await (proxy === null
    ? fetch(url, init)
    : fetchOver(url, { ...init, headers: [...init.headers], dispatcher: proxy }));
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxJwksBytes) throw new Error(`it is longer than ${maxJwksBytes} bytes`);
    chunks.push(chunk);
  }
  if (response.status !== 200) throw new Error(`it is answered with status ${response.status}`);
  // A TextDecoder drops a byte order mark.
  const entries = KeySet.parse(JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)))).keys;
  const found = entries.flatMap((entry) => Key.safeParse(entry).data ?? []);
  if (entries.length > 0 && found.length === 0) throw new Error('none of its entries is a key');
  const keys = found.filter(isReadable);
  return { keys, dropped: entries.length - keys.length };
}
