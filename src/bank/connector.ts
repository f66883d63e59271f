import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, Client } from 'undici';
import { messageOf } from '../errors.ts';
import { portOf } from './http-message.ts';

/** How the bank is reached if the connection is not a direct one. */
export interface NetworkOptions {
  /** The client certificate that the bank is shown, and the authorities that vouch for the bank's; Node's where left out. */
  readonly secureContext?: SecureContext | undefined;
  /** The proxy through which it is reached; null for none. */
  readonly proxyUrl?: string | null | undefined;
  /** Maximum age in milliseconds: an older kept connection is replaced before its next use. 0 for no maximum. */
  readonly connectionMaxAgeMs?: number | undefined;
}

/** Opens connections to the bank. One for all of them, so that one takes up the TLS session of another. */
export interface Connector {
  readonly connect: buildConnector.connector;
  /** Counts the certificates: what was opened with earlier ones is out of date. */
  readonly generation: number;
  /** From now on connections are opened with these. */
  useTls(secureContext: SecureContext): void;
}

/** HTTP/2 is off: see exchange.ts. Of several addresses of a name, IPv6 and IPv4, the first that answers is used. */
export function createConnector(
  { secureContext, proxyUrl = null }: NetworkOptions,
  timeoutMs: number,
): Connector {
  const directly = (context: SecureContext | undefined) =>
    buildConnector({
      allowH2: false,
      timeout: timeoutMs,
      autoSelectFamily: true,
      ...(context === undefined ? {} : { secureContext: context }),
    });
  let connectDirectly = directly(secureContext);
  const connectThrough =
    (proxy: string): buildConnector.connector =>
    (options, callback) => {
      openTunnel(proxy, options, timeoutMs).then(
        (socket) => {
          if (options.protocol === 'https:') connectDirectly({ ...options, httpSocket: socket }, callback);
          else callback(null, socket);
        },
        (error: Error) => callback(error, null),
      );
    };

  const connector: { -readonly [Key in keyof Connector]: Connector[Key] } = {
    generation: 0,
    connect:
      proxyUrl === null
        ? (options, callback) => connectDirectly(options, callback)
        : connectThrough(proxyUrl),
    useTls(context) {
      connectDirectly = directly(context);
      connector.generation++;
    },
  };
  return connector;
}

/** No tunnel to the bank: the proxy refuses it, or cannot be reached. */
class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

interface Target {
  readonly protocol: string;
  /** With its port, unless that is the protocol's default. */
  readonly host?: string | undefined;
  readonly hostname: string;
  readonly port: string;
}

/** A socket to the target through the proxy (CONNECT). Errors: ProxyError. */
async function openTunnel(proxyUrl: string, target: Target, timeoutMs: number): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const hostname = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname;
  const authority = `${hostname}:${portOf(target)}`;
  // One for each tunnel, which takes its connection along.
  const client = new Client(proxy.origin, {
    connect: buildConnector({ allowH2: false, timeout: timeoutMs, autoSelectFamily: true }),
  });
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { host: authority, ...credentialsOf(proxy) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (statusCode === 200) return socket as Socket;
    socket.on('error', () => {}).destroy();
    throw new ProxyError(
      statusCode === 407
        ? 'the proxy wants credentials, or others (407)'
        : `the proxy refuses the way to the bank with status ${statusCode}`,
    );
  } catch (error) {
    if (error instanceof ProxyError) throw error;
    const reason = messageOf(error);
    throw new ProxyError(`the proxy cannot be reached, or does not answer: ${reason}`, { cause: error });
  } finally {
    void client.destroy();
  }
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(plain).toString('base64')}` };
}

/** What Node and OpenSSL call a handshake that failed, and what it means. The first that fits holds. */
const tlsFailures: readonly (readonly [code: RegExp, words: string])[] = [
  [
    /^ERR_SSL_.*ALERT_CERTIFICATE_REQUIRED$/,
    'the bank refused the TLS handshake: it wants a client certificate',
  ],
  [
    /^ERR_SSL_.*ALERT_((BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)$/,
    'the bank refused the TLS handshake: it does not accept the client certificate',
  ],
  [
    /^ERR_SSL_.*ALERT_PROTOCOL_VERSION$/,
    'the bank refused the TLS handshake: it takes no version of TLS that bankql speaks',
  ],
  [/^ERR_SSL_.*ALERT_/, 'the bank refused the TLS handshake'],
  [
    /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    'what answers there does not speak TLS',
  ],
  [/^CERT_HAS_EXPIRED$/, "the bank's certificate has expired"],
  [/^CERT_NOT_YET_VALID$/, "the bank's certificate is not valid yet"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the bank's certificate is for another name"],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER_CERT|GET_ISSUER_CERT_LOCALLY|VERIFY_LEAF_SIGNATURE)|CERT_UNTRUSTED)$/,
    "the bank's certificate is not trusted: no authority that bankql knows vouches for it",
  ],
  [/^ERR_SSL_/, 'the TLS handshake failed'],
];

/** Describes a failure below HTTP: of the TLS handshake, or of the way through a proxy. Null for any other failure. */
export function describeConnectionFailure(error: Error): string | null {
  if (error instanceof ProxyError) return 'no way through the proxy';
  const code = 'code' in error ? String(error.code) : '';
  return tlsFailures.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
