import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { describeState } from '../../../src/commands/announcements.ts';
import type { PaymentStore } from '../../../src/payments/store.ts';
import { lease, pending, retentionMs, start } from '../../payments/stores/store-conformance.ts';
import { inSqliteStore, operate } from '../../support/operate.ts';
import { testFolder } from '../../support/test-folder.ts';

/** Saving records, putting them back, and going on without them. */

const folder = testFolder();

const now = start + lease / 2;
let path = '';
let stores = 0;
beforeEach(() => {
  path = join(folder, `${++stores}.db`);
});

const inStore = <T>(work: (store: PaymentStore) => Promise<T>) => inSqliteStore(path, work);
const begin = (id: string) =>
  inStore((store) => store.begin(pending({ id, accountId: `account-${id}` }), now));
const records = () => inStore(async (store) => (await store.search({})).map(({ id }) => id));

const run = (args: readonly string[], answer?: string) =>
  operate(args, { state: { url: `sqlite:${path}`, retentionMs }, answer, now });

describe('backup and restore', () => {
  test('a backup does not replace a file, and says what to do', async () => {
    await begin('a');
    const file = join(folder, `${stores}.backup`);
    writeFileSync(file, 'precious');
    expect(await run(['backup', file])).toEqual({
      code: 1,
      output: '',
      errors: `${file} exists, and is not replaced: name a file that does not exist, or move this one away.\n`,
    });
    expect(readFileSync(file, 'utf8')).toBe('precious');
  });

  test('save the records, and name what began after the backup', async () => {
    await begin('a');
    const file = join(folder, `${stores}.backup`);
    expect(await run(['backup', file])).toEqual({
      code: 0,
      output: `Backed up 1 payment, the newest of 2026-01-15T00:00:00.000Z to ${file}.\n`,
      errors: '',
    });
    await begin('b');

    const refused = await run(['restore', file, '--by', 'Ada'], 'no');
    expect(refused).toMatchObject({ code: 1, errors: expect.stringMatching(/Nothing was written/) });
    expect(await records()).toEqual(['a', 'b']);
    const { code, output } = await run(['restore', file, '--by', 'Ada'], 'yes');
    expect(code).toBe(0);
    expect(output).toContain('The backup holds 1 payment');
    expect(output).toMatch(
      /These 1 began after the backup; whoever sends one again pays again:\nid .*\nb +PENDING .*account-b/,
    );
    const replaced = /The replaced file is (\S+)\.\n$/.exec(output)?.[1] ?? '';
    expect(existsSync(replaced)).toBe(true);
    expect(await records()).toEqual(['a']);
    expect(await inStore(async ({ loss }) => loss)).toBeNull();
  });

  describe('of a store that', () => {
    const removeStore = (...suffixes: readonly string[]) => {
      for (const suffix of ['', '-wal', '-shm', ...suffixes]) rmSync(`${path}${suffix}`, { force: true });
    };
    const notKnown = /Nothing here says what else began after it.*pay again.*find-missing --from-log/;
    const none = 'As far as the file in use and the high-water marks tell, it misses none.';

    test.each([
      ['is as it was', () => {}, none],
      ['left its high-water mark', () => removeStore(), none],
      ['left nothing: its disk is lost', () => removeStore('.mark'), notKnown],
      [
        'was replaced by a new, empty store',
        async () => {
          removeStore('.mark');
          await inStore(async () => {});
        },
        notKnown,
      ],
      ['cannot be read', () => writeFileSync(path, 'x'.repeat(9000)), none],
      [
        'cannot be read, and has no mark',
        () => {
          removeStore('.mark');
          writeFileSync(path, 'x'.repeat(9000));
        },
        notKnown,
      ],
    ] as const)('%s: they say what is missing, or that nobody knows', async (_, change, words) => {
      await begin('a');
      const file = join(folder, `${stores}.backup`);
      await run(['backup', file]);
      await change();
      const { code, output } = await run(['restore', file, '--by', 'Ada', '--yes']);
      expect(code).toBe(0);
      expect(output).toMatch(words);
      expect(output).not.toContain(words === none ? 'Nothing here says' : 'misses none');
      expect(output.includes('has STATE_WITNESS')).toBe(words === notKnown);
    });

    test('is older than the backup: they say that nobody knows what is missing', async () => {
      const older = join(folder, `${stores}.older`);
      const file = join(folder, `${stores}.backup`);
      await begin('a');
      await run(['backup', older]);
      await begin('b');
      await run(['backup', file]);
      removeStore('.mark');
      await run(['restore', older, '--by', 'Ada', '--yes']);
      expect((await run(['restore', file, '--by', 'Ada', '--yes'])).output).toMatch(notKnown);
    });
  });

  test('refuse what they cannot do, and say why', async () => {
    await begin('a');
    const file = join(folder, `${stores}.backup`);
    await run(['backup', file]);
    expect(await run(['backup', file])).toMatchObject({ code: 1, errors: expect.stringContaining(file) });
    const none = join(folder, 'none');
    expect(await run(['restore', none, '--by', 'Ada', '--yes'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining(none),
    });
    expect(await records()).toEqual(['a']);
  });
});

test('accept-loss shows what is lost, asks, and lets payments go on', async () => {
  for (const id of ['a', 'b']) await begin(id);
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  const loss = await inStore(async (store) => store.loss);
  expect(loss).toMatch(/lost records/);
  expect(describeState(null, loss, now)).toMatch(/^\*\*\* PAYMENTS ARE REFUSED \*\*\* .*lost records/);
  expect(describeState(null, loss, now)).not.toMatch(/\.\.|: [^:]*: The/);
  const args = ['accept-loss', '--by', 'Ada', '--reason', 'no backup'];
  expect(await run(args)).toMatchObject({ code: 1, errors: expect.stringMatching(/Nothing was written/) });
  await expect(begin('c')).rejects.toThrow(/lost records/);

  const accepted = await run(args, 'y');
  expect(accepted).toMatchObject({ code: 0, errors: '' });
  expect(accepted.output).toMatch(/lost records[\s\S]*\nPayments go on, by Ada: no backup\n$/);
  expect(await begin('c')).toBeNull();
});

test.each([
  [{ records: 0, pending: 0, unknown: 0, newestAt: null }, 'Payment records: none.'],
  [
    { records: 12, pending: 0, unknown: 0, newestAt: now - 7_200_000 },
    'Payment records: 12, the newest 2 h 0 min old.',
  ],
  [
    { records: 3, pending: 1, unknown: 2, newestAt: now },
    'Payment records: 3, the newest 0 s old; 1 PENDING, 2 UNKNOWN.',
  ],
  [null, 'Payment records: the store does not answer at the moment.'],
])('the start says of %j: %s', (status, line) => {
  expect(describeState(status, null, now)).toBe(line);
});

test('the start says that records are in memory only', () => {
  const empty = { records: 0, pending: 0, unknown: 0, newestAt: null };
  expect(describeState(empty, null, now, true)).toBe(
    'Payment records: none yet; they are kept in memory, until bankql stops.',
  );
});
