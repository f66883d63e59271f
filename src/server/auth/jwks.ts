import { createPublicKey } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose';
import { Agent, fetch, ProxyAgent, type RequestInit } from 'undici';
import { z } from 'zod';

/** How long keys are trusted, and when they are fetched, in milliseconds. */
const defaultTimes = {
  /** The deadline of a fetch, over connect, headers and body. */
  timeoutMs: 3000,
  /** The age at which keys are fetched again: a revoked key is accepted for at most this long. */
  maxAgeMs: 10 * 60_000,
  /** The age up to which keys are used while they cannot be fetched again. */
  graceMs: 60 * 60_000,
  /** The pause after a fetch that failed, and between fetches for unknown keys. */
  retryMs: 5000,
  /** The time in milliseconds, from any start. */
  now: () => performance.now(),
};
export type JwksTimes = Readonly<typeof defaultTimes>;

const maxJwksBytes = 256 * 1024;

/** Whether a token is valid is not known: there are no keys, or the token names one that may be new. */
export class JwksUnavailable extends Error {
  override readonly name = 'JwksUnavailable';
  /** The number of seconds after which to try again. */
  readonly retryAfter: number;

  constructor(message: string, retryMs: number) {
    super(message);
    this.retryAfter = Math.max(1, Math.ceil(retryMs / 1000));
  }
}

interface JwksOptions {
  readonly url: string;
  /** The proxy through which keys are fetched; null for none. */
  readonly proxyUrl: string | null;
  readonly times?: Partial<JwksTimes> | undefined;
  /** Called with the reason when a fetch fails; it must not throw. */
  readonly onFailure: (error: unknown) => void;
  /** Called with the number of entries that are no usable keys, when it changes; it must not throw. */
  readonly onSkipped?: ((entries: number) => void) | undefined;
}

/**
 * Finds a key. `reload` fetches the set at once, and resolves to whether this succeeded; otherwise the earlier set
 * stays in use. `current` is the number of the set in use; null if it has to be fetched again.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean>; current(): number | null };

/**
 * Finds the key of a token in the set at `url`. jose fetches the set, one fetch at a time, and keeps it; this function decides
 * when. A key that is not in the set may be new, so the set is fetched again after the token came. Anybody can make up a key's
 * name, so these fetches have a pause between them. During it, a token with an unknown key is not refused: its key may be the new one.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure, onSkipped }: JwksOptions): Keys {
  const { timeoutMs, maxAgeMs, graceMs, retryMs, now } = { ...defaultTimes, ...times };
  const connecting = { connect: { timeout: timeoutMs }, maxResponseSize: maxJwksBytes };
  const dispatcher =
    proxyUrl === null ? new Agent(connecting) : new ProxyAgent({ ...connecting, uri: proxyUrl });
  /** When the fetch of the set in use began and ended. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let loadedAt = Number.NEGATIVE_INFINITY;
  /** When the last fetch failed; null if it did not. */
  let failedAt: number | null = null;
  let fetched = 0;
  let skipped = 0;
  /** When the last fetch for an unknown key began. */
  let soughtAt = Number.NEGATIVE_INFINITY;
  const since = (time: number) => now() - time;

  const load: FetchImplementation = async (address, init) => {
    const begun = now();
    try {
      const { keys, dropped } = await fetchKeys(address, { ...init, headers: [...init.headers], dispatcher });
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
  // jose's own expiry and fetches are switched off: jose has no limit for an outage.
  const options = { timeoutDuration: timeoutMs, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const jwks = createRemoteJWKSet(new URL(url), { ...options, [customFetch]: load });

  /** Fetches the set, unless a fetch has just failed. Shape: whether it succeeded. */
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

  /** Waits until the set in use was requested at this time or later. Errors: JwksUnavailable. */
  async function newerThan(time: number): Promise<void> {
    const unavailable = (waitMs: number) =>
      new JwksUnavailable('the token names a key that may be a new one', waitMs);
    while (askedAt < time) {
      if (!jwks.reloading) {
        const pauseMs = retryMs - since(soughtAt);
        if (pauseMs > 0) throw unavailable(pauseMs);
        soughtAt = now();
      }
      if (!(await refresh())) throw unavailable(retryMs);
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

/** The types of keys that can verify tokens. Other types, and keys for encryption, are ignored. */
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
 * Shape:  the keys of the set, and how many other entries it has. With such an entry, jose could verify no token at
 * all. Errors: any reason why the set cannot be read, also if none of its entries is a key.
 */
async function fetchKeys(url: string, init: RequestInit) {
  const response = await fetch(url, init);
  if (response.status !== 200) throw new Error(`it is answered with status ${response.status}`);
  const entries = KeySet.parse(await response.json()).keys;
  const found = entries.flatMap((entry) => Key.safeParse(entry).data ?? []);
  if (entries.length > 0 && found.length === 0) throw new Error('none of its entries is a key');
  const keys = found.filter(isReadable);
  return { keys, dropped: entries.length - keys.length };
}
