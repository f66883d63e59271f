import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';

/** Opens connections to the bank. All pools share it, so that a connection can resume the TLS session of another. */
export function createConnector(
  timeoutMs: number,
  secureContext: SecureContext | undefined,
): buildConnector.connector {
  const connect = buildConnector({
    ...tlsOptions(secureContext),
    timeout: timeoutMs,
    autoSelectFamily: true,
  });
  return (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      if (error === null) keepFirstError(socket);
      callback(...result);
    });
}

/**
 * If the bank closes the connection after a TLS alert, undici reports only the closing. The alert then becomes the cause of
 * undici's error.
 */
function keepFirstError(socket: Duplex): void {
  let first: Error | null = null;
  socket.prependListener('error', (error) => {
    if (first === null) first = error;
    else if (error !== first) error.cause ??= first;
  });
}

/** HTTP/2 is off: undici would send a request again if the bank refused its stream. */
export const tlsOptions = (secureContext: SecureContext | undefined) => ({
  allowH2: false,
  ...(secureContext === undefined ? {} : { secureContext }),
});

/** The codes of Node and OpenSSL for failed handshakes, with their meaning. The first match counts. */
const failures: readonly (readonly [code: RegExp, words: string])[] = [
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

/** Describes a failed TLS handshake, or an error caused by one. Null for any other error. */
export function describeTlsFailure(error: Error): string | null {
  const code = 'code' in error ? String(error.code) : '';
  const words = failures.find(([pattern]) => pattern.test(code))?.[1] ?? null;
  return words ?? (error.cause instanceof Error ? describeTlsFailure(error.cause) : null);
}
