import { expect, test } from 'vitest';
import { parseStoreUrl, shownStoreUrl } from '../../../src/payments/stores/store-address.ts';

/** Who asks, as an address has it. */
const [ops, slash] = ['ops:s3cr', 'ops:s3/cr'];

test.each([
  ['memory:', { kind: 'memory' }],
  ['sqlite:a/b.db', { kind: 'sqlite', path: 'a/b.db' }],
  [`postgres://${ops}@a,b/pay`, { kind: 'postgres', address: { database: 'pay', password: 's3cr' } }],
])('reads %s', (url, named) => {
  expect(parseStoreUrl(url)).toMatchObject(named);
});

test.each([
  ['mysql://a/pay', 'it names no payment store: use memory:'],
  [`postgres://${ops}@a`, 'it has to name a database'],
  [`redis://${ops}@a`, 'Redis no longer stores payments'],
  [`redis+sentinel://${slash}@a,b/pay`, 'Redis no longer stores payments'],
])('says what is wrong with %s, and nothing of who asks', (url, fault) => {
  const parse = () => parseStoreUrl(url);
  expect(parse).toThrow(fault);
  expect(parse).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/ops|s3/) }));
});

test.each([
  [`redis://${slash}@a/x`, 'redis://…@a/x'],
  [`redis:${ops}@a`, 'redis:…@a'],
  ['postgres://a/pay?password=s3cr', 'postgres://a/pay?…'],
  ['redis://a#s3cr', 'redis://a?…'],
  ['redis://:s3cr', 'redis://…'],
  ['postgres://ops:s3cr/a:1/pay', 'postgres://…'],
  ['redis+sentinel://a:1,b:99999/pay/x', 'redis+sentinel://a:1,b:99999/pay/x'],
])('shows of %s nothing that may be a password', (url, shown) => {
  expect(shownStoreUrl(url, '…')).toBe(shown);
});
