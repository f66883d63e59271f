import { ProxyError } from './proxy-tunnel.ts';

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

/** What failed below HTTP, in words where there are some: the handshake of TLS, or the way through a proxy. */
export function describeConnectionFailure(error: Error): string | null {
  if (error instanceof ProxyError) return 'no way through the proxy';
  const code = 'code' in error ? String(error.code) : '';
  return tlsFailures.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
