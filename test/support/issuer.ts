import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { JwtOptions } from '../../src/http/auth/jwt-options.ts';
import { closeNow, listenOnLoopback } from './loopback.ts';

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** An issuer of tokens, with a server for its public keys. */
export interface Issuer extends AsyncDisposable {
  readonly jwksUrl: string;
  /** The options with which bankql verifies this issuer's tokens, and the same as variables. */
  readonly options: JwtOptions;
  readonly variables: Readonly<Record<string, string>>;
  /** The public keys that the server returns. A test may change them. */
  keys: JWK[];
  /** Replaces the answer with the keys. */
  behave: ((response: ServerResponse) => void) | null;
  /** The number of requests for the keys. */
  readonly asked: () => number;
}

/** The issuer, the audience and other claims that tokens of the tests have, and that bankql expects. */
export const issuerName = 'https://login.example/';
export const audience = 'bankql';

export async function createKey(alg: string, kid: string): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

const now = () => Math.floor(Date.now() / 1000);

/** The claims of a valid token. Times are in seconds from now. */
export const claims = (more: Readonly<Record<string, unknown>> = {}, exp = 300): JWTPayload => ({
  iss: issuerName,
  aud: audience,
  sub: 'alice',
  exp: now() + exp,
  ...more,
});

export const inSeconds = (seconds: number) => now() + seconds;

/** Signs a token. */
export const sign = ({ kid, alg, privateKey }: IssuerKey, payload: JWTPayload = claims()): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(privateKey);

/** A part of an unsigned token. */
export const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function startIssuer(...keys: IssuerKey[]): Promise<Issuer> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    if (issuer.behave !== null) return issuer.behave(response);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ keys: issuer.keys }));
  });
  const port = await listenOnLoopback(server);
  const jwksUrl = `http://127.0.0.1:${port}/keys`;
  const issuer: Issuer = {
    jwksUrl,
    options: {
      subscriptionKey: 'operator-key',
      jwksUrl,
      issuer: issuerName,
      audience,
      algorithms: ['ES256'],
      providerClaim: 'iss',
      authIdClaim: 'sub',
    },
    variables: {
      IDENTITY: 'jwt',
      IDENTITY_JWKS_URL: jwksUrl,
      IDENTITY_ISSUER: issuerName,
      IDENTITY_AUDIENCE: audience,
    },
    keys: keys.map(({ jwk }) => jwk),
    behave: null,
    asked: () => asked,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
  return issuer;
}
