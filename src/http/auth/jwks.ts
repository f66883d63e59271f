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

/** The times of the key set, in milliseconds. */
const defaultTimes = {
  /** The deadline of a fetch, including connection, headers and body. */
  timeoutMs: 3000,
  /** The age at which a set is fetched again in the background. */
  refreshMs: 9 * 60_000,
  /**
   * The age from which callers wait for that fetch, unless the last fetch failed. This age limits how long a revoked key is
   * accepted.
   */
  maxAgeMs: 10 * 60_000,
  /** The age up to which a set is used if it cannot be fetched again. */
  graceMs: 60 * 60_000,
  /** The number of fetches that may follow each other at once, and the pause before each further fetch and after a failed one. */
  burst: 6,
  pauseMs: 5000,
  /** A clock in milliseconds, which may start at any time. */
  now: () => performance.now(),
};
export type JwksTimes = Readonly<typeof defaultTimes>;

const maxJwksBytes = 256 * 1024;

/** Thrown if a token cannot be verified now: there are no keys, or the token names a key that may be new. */
export class JwksUnavailable extends Error {
  override readonly name = 'JwksUnavailable';
  /** The number of seconds after which the client may try again. */
  readonly retryAfter: number;
  /**
   * Whether a fetch has failed. If not, the token names a key that is not in the set, and its sender may have
   * made the name up.
   */
  readonly hasFailed: boolean;

  constructor(waitMs: number, hasFailed: boolean) {
    super('the key set cannot be fetched now');
    this.hasFailed = hasFailed;
    this.retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  }
}

interface JwksOptions {
  readonly url: string;
  /** The proxy through which the set is fetched; null for none. */
  readonly proxyUrl: string | null;
  readonly times?: Partial<JwksTimes> | undefined;
  /** Called with the reason when a fetch fails; it must not throw. */
  readonly onFailure: (error: unknown) => void;
  /** Called when the number of unusable keys in the set changes, with the new number. Must not throw. */
  readonly onSkipped?: ((entries: number) => void) | undefined;
}

/**
 * Finds a token's key. `reload` fetches the set at once, and resolves with whether this succeeded; if not, the earlier set
 * stays in use. Sets are numbered: `current` returns the number of the set in use, or null if the set has to be fetched
 * again.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean>; current(): number | null };

/**
 * Finds the key of a token in the set at `url`. jose keeps the set, and fetches it when this function asks, one fetch at a
 * time. A key that is not in the set may be new, so the set is fetched again if it is older than the token's request. Anybody
 * can make up a key's name, so fetches are limited. While no fetch is allowed, a token with an unknown key is not refused:
 * JwksUnavailable is thrown.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure, onSkipped }: JwksOptions): Keys {
  const { timeoutMs, refreshMs, maxAgeMs, graceMs, burst, pauseMs, now } = { ...defaultTimes, ...times };
  const proxy = proxyUrl === null ? null : new ProxyAgent({ uri: proxyUrl, connect: { timeout: timeoutMs } });
  /** The times at which the fetch of the set in use began and ended. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let sets = 0;
  let skipped = 0;
  /** The time from which a full burst of fetches is allowed again. */
  let restedAt = Number.NEGATIVE_INFINITY;
  const age = () => now() - loadedAt;
  /** The time until the next fetch is allowed, in milliseconds. */
  const waitMs = () => restedAt - now() - (burst - 1) * pauseMs;

  const load: FetchImplementation = async (address, init) => {
    if (waitMs() > 0) throw new JwksUnavailable(waitMs(), hasFailed);
    const begun = now();
    restedAt = Math.max(restedAt, begun) + pauseMs;
    try {
      const { keys, dropped } = await fetchKeys(address, init, proxy);
      if (dropped !== skipped) onSkipped?.(dropped);
      [askedAt, loadedAt, hasFailed, skipped] = [begun, now(), false, dropped];
      return Response.json({ keys });
    } catch (error) {
      hasFailed = true;
      restedAt = now() + burst * pauseMs;
      onFailure(error);
      throw new JwksUnavailable(pauseMs, true);
    }
  };
  // jose's own limits are off: its maximum age would make all callers wait for a new set, and its cooldown uses the system
  // clock, which may be set back.
  const options = { timeoutDuration: timeoutMs, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const jwks = createRemoteJWKSet(new URL(url), { ...options, [customFetch]: load });
  /** Errors: JwksUnavailable. */
  async function reload(): Promise<void> {
    await jwks.reload();
    // `sets` changes only after a successful fetch. Tokens that the earlier set verified are then verified again.
    sets++;
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const arrivedAt = now();
    if (age() >= refreshMs) {
      const reloaded = reload().catch(() => {});
      if (age() >= graceMs || (age() >= maxAgeMs && !hasFailed)) await reloaded;
      if (age() >= graceMs) throw new JwksUnavailable(waitMs(), true);
    }
    try {
      return await jwks(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    // A fetch that began before the token's request may lack its key, so another one follows.
    while (askedAt < arrivedAt) await reload();
    return jwks(header, token);
  };

  return Object.assign(find, {
    reload() {
      restedAt = Number.NEGATIVE_INFINITY;
      return reload().then(
        () => true,
        () => false,
      );
    },
    current: () => (age() >= refreshMs ? null : sets),
  });
}

const KeySet = z.looseObject({ keys: z.array(z.unknown()) });
const Key = z.looseObject({ kty: z.string() });

/** The types of keys that can verify tokens. Other keys of the set, such as those for encryption, are not for bankql. */
const verifying: ReadonlySet<unknown> = new Set(['EC', 'RSA', 'OKP']);

/** Whether a key can be read; true for a key that cannot verify tokens. */
function isReadable(key: z.infer<typeof Key>): boolean {
  if (!verifying.has(key.kty) || key.use === 'enc') return true;
  try {
    return createPublicKey({ key, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}

/**
 * Fetches the key set.
 * Shape:  the usable keys, and the number of unusable entries, which are left out: with one of them, jose could verify no
 *         token.
 * Errors: any reason why the set cannot be read, or that it contains no usable key.
 */
async function fetchKeys(url: string, init: Parameters<FetchImplementation>[1], proxy: ProxyAgent | null) {
  // The dispatcher must be of the same version of undici as `fetch`. Node's fetch may have another version.
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
  // TextDecoder is used because it drops a byte order mark.
  const entries = KeySet.parse(JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)))).keys;
  const parsed = entries.flatMap((entry) => Key.safeParse(entry).data ?? []);
  if (entries.length > 0 && parsed.length === 0) throw new Error('none of its entries is a key');
  const keys = parsed.filter(isReadable);
  return { keys, dropped: entries.length - keys.length };
}
