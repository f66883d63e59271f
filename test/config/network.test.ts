import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';

/** The way to the bank, as the environment says it. */

const bank = { BANK_BASE_URL: 'https://api.bank.example', STATE_URL: 'memory:' };
const proxy = 'http://proxy.example:3128';
const proxyOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...bank, ...environment }).bankLimits.network?.proxyUrl ?? null;

test.each([
  [{}, null],
  [{ BANK_PROXY: proxy }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: 'http://127.0.0.1:8080' }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: '' }, null],
  // They belong to other programs.
  [{ HTTPS_PROXY: proxy, https_proxy: proxy, HTTP_PROXY: 'x', NO_PROXY: '*' }, null],
])('the proxy to the bank with %o: %s', (environment, expected) => {
  expect(proxyOf(environment)).toBe(expected);
});

test('the proxy leads to the keys of tokens too, unless they are on this machine', () => {
  const identity = {
    BANK_PROXY: proxy,
    IDENTITY: 'jwt',
    BANK_SUBSCRIPTION_KEY: 'key-of-the-operator',
    IDENTITY_ISSUER: 'https://login.example/',
    IDENTITY_AUDIENCE: 'bankql',
  };
  const jwksProxyOf = (IDENTITY_JWKS_URL: string) =>
    readConfig({ ...bank, ...identity, IDENTITY_JWKS_URL }).identity?.jwksProxyUrl;
  expect(jwksProxyOf('https://login.example/jwks.json')).toBe(proxy);
  expect(jwksProxyOf('https://127.0.0.1/jwks.json')).toBeNull();
  expect(jwksProxyOf('http://localhost:8080/jwks.json')).toBeNull();
});

test.each([
  [{ BANK_TLS_CERT: 'c.pem' }, 'BANK_TLS_CERT needs the private key'],
  [{ BANK_TLS_KEY: 'k.pem' }, 'BANK_TLS_KEY needs the certificate'],
  [{ BANK_TLS_CA: 'ca.pem', BANK_BASE_URL: 'http://127.0.0.1' }, 'needs a BANK_BASE_URL that is https'],
  [{ BANK_PROXY: 'proxy.example:3128' }, 'give an address such as http://proxy.example:3128'],
  [{ BANK_PROXY: `ftp://user:${'pass-of-proxy'}@proxy.example/` }, 'BANK_PROXY=ftp://…@proxy.example/'],
])('%o stops the start', (environment, words) => {
  expect(() => readConfig({ ...bank, ...environment })).toThrow(words);
});
