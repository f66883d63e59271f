import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createAnnouncements, describeState } from '../../src/app/announcements.ts';
import { describeStartFailure } from '../../src/commands/start-failure.ts';
import { readConfig } from '../../src/config/config.ts';
import { StartError } from '../../src/errors.ts';
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

const failure = (message: string, code: string, syscall: string) =>
  Object.assign(new Error(message), { code, syscall });

test.each([
  [
    failure('listen EACCES: permission denied 127.0.0.1:80', 'EACCES', 'listen'),
    'give a PORT of 1024 or above',
  ],
  [failure('listen EADDRINUSE: in use :::4000', 'EADDRINUSE', 'listen'), 'another process listens there'],
  [
    failure('listen EADDRNOTAVAIL: not available 203.0.113.5:4000', 'EADDRNOTAVAIL', 'listen'),
    'give another HOST',
  ],
  [failure('getaddrinfo ENOTFOUND no.invalid', 'ENOTFOUND', 'getaddrinfo'), 'no machine has this name'],
])('%s is one line that says what to do', (error, remedy) => {
  const said = describeStartFailure(error);
  expect(said.split('\n')).toHaveLength(1);
  expect(said).toContain(`${error.message}: `);
  expect(said).toContain(remedy);
});

test('an expected error is shown by its message alone, any other with its stack', () => {
  expect(describeStartFailure(new StartError('give a PORT'))).toBe('give a PORT');
  expect(describeStartFailure(new StartError('a\rb\u001B[2J\nc'))).toBe('a\\rb\\u{1b}[2J\nc');
  const surprise = failure('open ENOENT', 'ENOENT', 'open');
  expect(describeStartFailure(surprise)).toBe(surprise.stack);
  expect(describeStartFailure('thrown')).toBe('thrown');
});
