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

/** How long a set of keys is used, and when it is fetched, in milliseconds. */
const defaultTimes = {
  /** The deadline of a fetch, over connect, headers and body. */
  timeoutMs: 3000,
  /** The age at which it is fetched again while it is used. */
  refreshMs: 9 * 60_000,
  /** The age from which callers wait for this fetch, unless the last one failed: how long a revoked key is accepted. */
  maxAgeMs: 10 * 60_000,
  /** The age up to which it is used while it cannot be fetched again. */
  graceMs: 60 * 60_000,
  /** How many fetches there may be at once, and the pause before each further one and after one that failed. */
  burst: 6,
  pauseMs: 5000,
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

  constructor(waitMs: number) {
    super('the key set cannot be fetched now');
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
  /** Called with the number of entries that are no usable keys, when it changes; it must not throw. */
  readonly onSkipped?: ((entries: number) => void) | undefined;
}

/**
 * Finds a key; `reload` fetches the set at once and resolves with whether it succeeded: if not, the earlier set stays
 * in use. `current` is the number of the set in use; null if it has to be fetched again.
 */
export type Keys = JWTVerifyGetKey & { reload(): Promise<boolean>; current(): number | null };

/**
 * Finds the key of a token in the set at `url`. jose keeps the set, and fetches it when this function asks, one fetch at a time. A key
 * that is not in the set may be new, so the set is fetched again after the token came. Anybody can make up a key's name, so fetches
 * are few. While none is allowed, a token with an unknown key is not refused: its key may be the new one.
 * Errors: JwksUnavailable; those of jose if no key, or more than one, matches the token.
 */
export function createJwks({ url, proxyUrl, times, onFailure, onSkipped }: JwksOptions): Keys {
  const { timeoutMs, refreshMs, maxAgeMs, graceMs, burst, pauseMs, now } = { ...defaultTimes, ...times };
  const proxy = proxyUrl === null ? null : new ProxyAgent({ uri: proxyUrl, connect: { timeout: timeoutMs } });
  /** When the fetch of the set in use began and ended. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let sets = 0;
  let skipped = 0;
  /** From when on a whole burst is allowed again. */
  let restedAt = Number.NEGATIVE_INFINITY;
  const age = () => now() - loadedAt;
  /** How long it takes until a fetch is allowed. */
  const waitMs = () => restedAt - now() - (burst - 1) * pauseMs;

  const load: FetchImplementation = async (address, init) => {
    if (waitMs() > 0) throw new JwksUnavailable(waitMs());
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
      throw new JwksUnavailable(pauseMs);
    }
  };
  // jose would make all callers wait for a set that is too old. Its cooldown uses the clock of the system, which may be set back.
  const options = { timeoutDuration: timeoutMs, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const jwks = createRemoteJWKSet(new URL(url), { ...options, [customFetch]: load });
  /** Errors: JwksUnavailable. */
  async function reload(): Promise<void> {
    await jwks.reload();
    // Only now: what was verified with the earlier set must not pass for verified with this one.
    sets++;
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const arrivedAt = now();
    if (age() >= refreshMs) {
      const reloaded = reload().catch(() => {});
      if (age() >= graceMs || (age() >= maxAgeMs && !hasFailed)) await reloaded;
      if (age() >= graceMs) throw new JwksUnavailable(waitMs());
    }
    try {
      return await jwks(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    // A fetch that began before the token came may not know its key.
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
  const parsed = entries.flatMap((entry) => Key.safeParse(entry).data ?? []);
  if (entries.length > 0 && parsed.length === 0) throw new Error('none of its entries is a key');
  const keys = parsed.filter(isReadable);
  return { keys, dropped: entries.length - keys.length };
}
