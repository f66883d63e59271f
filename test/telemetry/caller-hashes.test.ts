import { expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { hashCaller } from '../../src/payments/record.ts';
import { createCallerHashes } from '../../src/telemetry/operation-observer.ts';

const caller = (authId: string | null, authProviderName: string | null = 'sandbox') =>
  ({ subscriptionKey: 'key', authProviderName, authId }) as Credentials;

test('a caller has the hash of the records of payments, each time, and nobody else has it', () => {
  const hashOf = createCallerHashes(() => 'secret');
  const expected = hashCaller('secret', 'sandbox', 'alice');
  expect([hashOf(caller('alice')), hashOf(caller('alice'))]).toEqual([expected, expected]);
  expect(hashOf(caller('bob'))).toBe(hashCaller('secret', 'sandbox', 'bob'));
  expect(hashOf(caller('alice', 'other'))).toBe(hashCaller('secret', 'other', 'alice'));
});

test('who is not named has none', () => {
  const hashOf = createCallerHashes(() => 'secret');
  expect([hashOf(null), hashOf(caller(null)), hashOf(caller('alice', null))]).toEqual([null, null, null]);
});

test('another secret of the store makes other hashes within a second', () => {
  let [secret, now] = ['before', 0];
  const hashOf = createCallerHashes(
    () => secret,
    () => now,
  );
  const before = hashOf(caller('alice'));
  secret = 'after';
  now += 1001;
  expect(hashOf(caller('alice'))).toBe(hashCaller('after', 'sandbox', 'alice'));
  expect(hashOf(caller('alice'))).not.toBe(before);
});
