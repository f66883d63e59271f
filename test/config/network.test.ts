import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { bypassesProxy } from '../../src/config/proxy.ts';

/** The way to the bank, as the environment says it. */

const bank = { BANK_BASE_URL: 'https://api.bank.example', STATE_URL: 'memory:' };
const proxy = 'http://proxy.example:3128';
const proxyOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...bank, ...environment }).bankLimits.network?.proxyUrl ?? null;

describe('the proxy to the bank', () => {
  test.each([
    [{}, null],
    [{ HTTPS_PROXY: proxy }, proxy],
    [{ https_proxy: proxy }, proxy],
    [{ https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }, proxy],
    [{ HTTPS_PROXY: proxy, NO_PROXY: 'x.example, bank.example' }, null],
    [{ HTTPS_PROXY: proxy, no_proxy: '*' }, null],
    [{ HTTPS_PROXY: proxy, BANK_BASE_URL: 'http://127.0.0.1:8080' }, null],
    [{ BANK_PROXY: proxy, NO_PROXY: '*' }, proxy],
    [{ BANK_PROXY: proxy, BANK_BASE_URL: 'http://127.0.0.1:8080' }, proxy],
    [{ BANK_PROXY: proxy, BANK_BASE_URL: '', SANDBOX: '1' }, null],
  ])('%o: %s', (environment, expected) => {
    expect(proxyOf(environment)).toBe(expected);
  });

  test('leads to the keys of tokens too, unless NO_PROXY names their host', () => {
    const identity = {
      IDENTITY: 'jwt',
      BANK_SUBSCRIPTION_KEY: 'key-of-the-operator',
      IDENTITY_JWKS_URL: 'https://login.example/jwks.json',
      IDENTITY_ISSUER: 'https://login.example/',
      IDENTITY_AUDIENCE: 'bankql',
    };
    const jwksProxyOf = (environment: Readonly<Record<string, string>>) =>
      readConfig({ ...bank, ...identity, ...environment }).identity?.jwksProxyUrl;
    expect(jwksProxyOf({ HTTPS_PROXY: proxy })).toBe(proxy);
    expect(jwksProxyOf({ BANK_PROXY: proxy })).toBe(proxy);
    expect(jwksProxyOf({ BANK_PROXY: proxy, NO_PROXY: 'login.example' })).toBe(null);
  });
});

test.each([
  ['bank.example', 'https://bank.example', true],
  ['bank.example', 'https://api.bank.example', true],
  ['bank.example', 'https://mybank.example', false],
  ['.bank.example', 'https://bank.example', true],
  ['*.bank.example', 'https://bank.example', false],
  ['*.bank.example', 'https://api.bank.example', true],
  ['BANK.example.', 'https://bank.example', true],
  ['bank.example:443', 'https://bank.example', true],
  ['bank.example:8443', 'https://bank.example', false],
  ['10.0.0.1', 'https://10.0.0.1', true],
  ['::1', 'https://[::1]', true],
  ['[::1]:443', 'https://[::1]:8443', false],
  ['a.example b.example,c.example', 'https://c.example', true],
  ['none, *', 'https://bank.example', true],
  ['10.0.0.0/8', 'https://10.1.2.3', true],
  ['10.0.0.0/8', 'https://11.1.2.3', false],
  ['fd00::/8', 'https://[fd12::1]', true],
  ['10.0.0.0/8,fd00::/8,10.0.0.0/33,10.0.0.0/x', 'https://bank.example', false],
  ['', 'https://bank.example', false],
])('NO_PROXY=%s and %s: %o', (noProxy, url, expected) => {
  expect(bypassesProxy(noProxy, url)).toBe(expected);
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
