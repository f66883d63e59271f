import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeState } from '../../../src/commands/announcements.ts';
import { lease, pending, retentionMs } from '../../payments/stores/store-conformance.ts';
import { inSqliteStore, operate } from '../../support/operate.ts';
import { testFolder } from '../../support/test-folder.ts';

const folder = testFolder();
const now = Date.UTC(2026, 0, 15);

/** Runs `bankql payments` on a file in a new folder. */
function setUp() {
  const home = mkdtempSync(join(folder, 'home-'));
  const path = join(home, 'state.db');
  const run = (...args: string[]) =>
    operate(args, { state: { url: `sqlite:${path}`, retentionMs }, now: Date.now() });
  return { home, path, run };
}

test('init makes the store, once; without it the other commands say what a missing store means', async () => {
  const { home, path, run } = setUp();
  const missing = await run('find', '--id', 'abcdef');
  expect(missing).toMatchObject({ code: 1, errors: expect.stringContaining('There is no payment store at') });
  expect(readdirSync(home)).toEqual([]);
  expect(await run('init')).toMatchObject({ code: 0, errors: '' });
  const made = readFileSync(path);
  expect(await run('init')).toMatchObject({ code: 0, errors: '' });
  expect(readFileSync(path)).toEqual(made);
});

test('commands that only read leave nothing next to the file, and remove nothing', async () => {
  const { home, path, run } = setUp();
  await inSqliteStore(path, (store) => store.begin(pending(), lease));
  const id = pending().id;
  for (const args of [
    ['find', '--id', id],
    ['show', id],
    ['list', '--state', 'pending'],
  ])
    expect(await run(...args)).toMatchObject({ code: 0, output: expect.stringContaining(id.slice(0, 12)) });
  expect(readdirSync(home)).toEqual(['state.db']);
});

test('a backup copies the records, and does not replace a file', async () => {
  const { path, run } = setUp();
  await inSqliteStore(path, (store) => store.begin(pending(), lease));
  const file = `${path}.backup`;
  expect(await run('backup', file)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^Backed up 1 payment, the newest of \S+ to /),
  });
  expect(existsSync(file)).toBe(true);
  writeFileSync(file, 'precious');
  expect(await run('backup', file)).toMatchObject({ code: 1, errors: expect.stringContaining('exists') });
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

const counts = { records: 0, expired: 0, pending: 0, unknown: 0, newestAt: null, now };

test.each([
  [counts, 'Payment records: none.'],
  [{ ...counts, records: 12, newestAt: now - 7_200_000 }, 'Payment records: 12, the newest 2 h 0 min old.'],
  [
    { ...counts, records: 3, pending: 1, unknown: 2, newestAt: now },
    'Payment records: 3, the newest 0 s old; 1 PENDING, 2 UNKNOWN.',
  ],
  [null, 'Payment records: the store does not answer at the moment.'],
])('the start says of %j: %s', (found, line) => {
  expect(describeState(found, null, now)).toBe(line);
});

test('the start says that records are in memory only', () => {
  expect(describeState(counts, null, now, true)).toBe(
    'Payment records: none yet; they are kept in memory, until bankql stops.',
  );
});
