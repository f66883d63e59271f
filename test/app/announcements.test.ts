import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createAnnouncements, describeState } from '../../src/app/announcements.ts';
import { readConfig } from '../../src/config/config.ts';
import { tokens } from '../support/environments.ts';

test('where tokens say who calls, the query to paste has a token and no key', () => {
  const { identity } = readConfig(tokens);
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  createAnnouncements({ isTerminal: true, write, logger: pino({ level: 'silent' }) }).started({
    url: 'http://127.0.0.1:4000',
    metricsUrl: null,
    sandboxUrl: 'http://127.0.0.1:5000',
    bankUrl: 'http://127.0.0.1:5000',
    stateLine: 'Payment records: none.',
    config: { graphiql: true, identity, workers: 1 },
  });
  expect(text).toContain("-H 'Authorization: Bearer your-token'");
  expect(text).not.toContain(tokens.BANK_SUBSCRIPTION_KEY);
});

const now = Date.UTC(2026, 0, 15);
const counts = { pending: 0, unknown: 0, newestAt: null, newestEndAt: null, now };

test.each([
  [counts, 'Payment records: none.'],
  [{ ...counts, newestAt: now - 7_200_000 }, 'Payment records: the newest is 2 h 0 min old.'],
  [
    { ...counts, pending: 1, unknown: 2, newestAt: now },
    'Payment records: the newest is 0 s old; 1 PENDING, 2 UNKNOWN.',
  ],
  [null, 'Payment records: the store does not answer at the moment.'],
])('the start says of %j: %s', (found, line) => {
  expect(describeState(found, null, now)).toBe(line);
});

test('the start says that records are in memory only, and loudly that payments are refused', () => {
  expect(describeState(counts, null, now, true)).toBe(
    'Payment records: none yet; they are kept in memory, until bankql stops.',
  );
  expect(describeState(counts, 'Its row is missing.', now)).toMatch(
    /^\*\*\* PAYMENTS ARE REFUSED \*\*\* Its row is missing\. Reads go on\./,
  );
});
