import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentRecord, PaymentStore } from '../../../src/payments/store.ts';
import {
  done,
  lease,
  pending,
  rejected,
  retentionMs,
  start,
  stored,
  unknown,
} from '../../payments/stores/store-conformance.ts';
import { inSqliteStore, operate } from '../../support/operate.ts';
import { runProcess } from '../../support/process.ts';
import { testFolder } from '../../support/test-folder.ts';

const folder = testFolder();

const { trackId } = pending();
const ids = {
  unknown: `aaaaaa${'1'.repeat(58)}`,
  other: `aaaaaa${'2'.repeat(58)}`,
  done: `dddddd${'3'.repeat(58)}`,
  rejected: `eeeeee${'4'.repeat(58)}`,
  pending: `ffffff${'5'.repeat(58)}`,
};
const now = start + 26 * 60 * 60 * 1000;
let url = '';
let path = '';
let stores = 0;

const inStore = <T>(work: (store: PaymentStore) => Promise<T>) => inSqliteStore(path, work);

const template = join(folder, 'template.db');
beforeAll(async () => {
  path = template;
  await inStore(async (store) => {
    const begin = (change: Partial<PaymentRecord>) => store.begin(pending(change), start);
    await begin({ id: ids.unknown, toBankId: 'OTHRBANK' });
    await store.end({ id: ids.unknown, trackId, outcome: unknown });
    // Its lease ends before `now`.
    await begin({ id: ids.other, currency: null, amount: null, createdAt: start + lease });
    await begin({ id: ids.done });
    await store.end({ id: ids.done, trackId, outcome: done });
    await begin({ id: ids.rejected });
    await store.end({ id: ids.rejected, trackId, outcome: rejected });
    await begin({ id: ids.pending, leaseUntil: now + lease });
  });
});
beforeEach(() => {
  path = join(folder, `${++stores}.db`);
  url = `sqlite:${path}`;
  copyFileSync(template, path);
});

const run = (...args: string[]) => operate(args, { state: { url, retentionMs }, now });

const find = (id: string) => inStore((store) => store.find(id));
const all = () => inStore((store) => Promise.all(Object.values(ids).map((id) => store.find(id))));
const settle = (...args: string[]) => run('settle', ...args);
const complete = ['--as', 'done', '--by', 'Ada', '--reason', 'seen in the ledger'];

describe('list', () => {
  test('shows the payments of unknown outcome as a table, oldest first', async () => {
    const { code, output, errors } = await run('list');
    expect([code, errors]).toEqual([0, '']);
    const lines = output.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['id', 'created', 'age', 'operation', 'from -> to', 'amount', 'trackId', 'code', 'status', 'caller'],
      [
        'aaaaaa111111',
        '2026-01-15T00:00:00.000Z',
        '1 d 2 h',
        'makeTransaction',
        'SNDBCY2N/alice-current -> OTHRBANK/bob-current',
        '12.50 EUR',
        'attempt-1',
        'OUTCOME_UNKNOWN',
        '502',
        'cccccccc',
      ],
      [
        'aaaaaa222222',
        '2026-01-15T00:00:30.000Z',
        '1 d 1 h',
        'makeTransaction',
        'SNDBCY2N/alice-current -> -/bob-current',
        '-',
        'attempt-1',
        'OUTCOME_UNKNOWN',
        '-',
        'cccccccc',
      ],
    ]);
  });

  test.each(['pending', 'done', 'rejected'] as const)('shows the others: %s', async (state) => {
    const { code, output } = await run('list', '--state', state);
    expect(code).toBe(0);
    expect(output.split('\n')[1]).toMatch(ids[state].slice(0, 12));
    expect(output.trimEnd().split('\n')).toHaveLength(2);
  });

  test('gives whole records as JSON', async () => {
    const { output } = await run('list', '--json', '--state', 'done');
    expect(JSON.parse(output)).toEqual([stored({ id: ids.done, ...done })]);
  });

  test('says when there is none', async () => {
    for (const id of [ids.unknown, ids.other]) await settle(id, ...complete);
    expect(await run('list')).toEqual({ code: 0, output: 'No payment is UNKNOWN.\n', errors: '' });
    expect(JSON.parse((await run('list', '--json')).output)).toEqual([]);
  });

  test('hands a terminal no commands that a client has written', async () => {
    const toAccountId = '\u001b]0;x\u0007\u009b2J\u202e\n';
    const evil = pending({ id: 'evil', toAccountId, createdAt: now, leaseUntil: now + lease });
    await inStore((store) => store.begin(evil, now));
    for (const args of [[], ['--json']]) {
      const { output } = await run('list', '--state', 'pending', ...args);
      expect(output).toContain('\\u009b2J');
      expect(output).toMatch(/^[\P{C}\n]+$/u);
    }
    const { output } = await run('list', '--json', '--state', 'pending');
    expect(JSON.parse(output)).toContainEqual(expect.objectContaining({ toAccountId }));
  });

  test('shows more of ids that begin the same way', async () => {
    const id = `aaaaaa${'1'.repeat(10)}${'9'.repeat(48)}`;
    await inStore((store) => store.begin(pending({ id }), start));
    const { output } = await run('list');
    expect(output).toContain('aaaaaa11111111119999 ');
  });
});

describe('settle', () => {
  test('writes down what the bank did, who says so and why, and prints the record', async () => {
    const { code, output, errors } = await settle(ids.unknown.slice(0, 8), ...complete);
    expect([code, errors]).toEqual([0, '']);
    const settledBy = 'Ada: seen in the ledger (2026-01-16T02:00:00.000Z)';
    expect(output).toContain(`id: ${ids.unknown}\n`);
    expect(output).toContain('trackId: attempt-1\n');
    expect(output).toContain('createdAt: 2026-01-15T00:00:00.000Z\n');
    expect(output).toContain(`Settled as DONE by ${settledBy}\n`);
    // What was not known is known now: the line's code is not that of the record before.
    expect(output).toMatch(/"code":null,.*"state":"DONE",.*"msg":"payment settled"/);
    expect(await find(ids.unknown)).toMatchObject({ state: 'DONE', settledBy, updatedAt: now });
  });

  test('settles as rejected', async () => {
    expect((await settle(ids.other, '--as', 'rejected', ...complete.slice(2))).code).toBe(0);
    expect(await find(ids.other)).toMatchObject({ state: 'REJECTED' });
  });

  test.each<[string, string[], RegExp]>([
    ['an ambiguous id', ['aaaaaa', ...complete], /2 UNKNOWN payments begin with aaaaaa: give more/],
    ['an id that nothing has', ['abcdef', ...complete], /No payment begins with abcdef/],
    ['a payment that is DONE', ['dddddd', ...complete], /dddddd3+ is DONE: only an UNKNOWN/],
    ['a payment that was REJECTED', ['eeeeee', ...complete], /is REJECTED/],
    ['a payment that is under way', ['ffffff', ...complete], /is PENDING/],
    ['no id', complete, /settle takes one id/],
    ['a short id', ['aaaaa', ...complete], /at least its first six/],
    ['two ids', [ids.unknown, ids.other, ...complete], /settle takes one id/],
    ['no outcome', [ids.unknown, ...complete.slice(2)], /--as says what the bank did/],
    ['another outcome', [ids.unknown, '--as', 'unknown', ...complete.slice(2)], /--as says/],
    ['nobody', [ids.unknown, '--as', 'done', '--reason', 'x'], /--by says who/],
    ['a blank name', [ids.unknown, '--as', 'done', '--by', ' ', '--reason', 'x'], /--by says who/],
    ['no reason', [ids.unknown, '--as', 'done', '--by', 'Ada'], /--reason says how/],
    ['two lines', [ids.unknown, '--as', 'done', '--by', 'Ada', '--reason', 'a\nb'], /in one line/],
    ['an option that is not known', [ids.unknown, ...complete, '--force'], /'--force'/],
  ])('refuses %s, and writes nothing', async (_, args, reason) => {
    const before = await all();
    const { code, output, errors } = await settle(...args);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(reason);
    expect(await all()).toEqual(before);
  });

  test('is done once', async () => {
    await settle(ids.unknown, ...complete);
    const { code, errors } = await settle(ids.unknown, '--as', 'rejected', ...complete.slice(2));
    expect(code).toBe(1);
    expect(errors).toContain('is DONE');
    expect(await find(ids.unknown)).toMatchObject({ state: 'DONE' });
  });
});

describe('refused, with what to do instead', () => {
  test.each([
    [[], /^usage: /],
    [['pay'], /^usage: /],
    [['list', '--state', 'gone'], /--state is unknown, pending, done or rejected, not gone/],
    [['list', 'x'], /usage: /],
  ])('%j', async (args, reason) => {
    const { code, output, errors } = await run(...args);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(reason);
  });

  test('payments that are known to their own process alone', async () => {
    url = 'memory:';
    expect(await run('list')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('STATE_URL is memory:'),
    });
  });

  test('a file that is not there, which is not made', async () => {
    url = `sqlite:${join(folder, 'none', 'state.db')}`;
    expect(await run('list')).toMatchObject({ code: 1, errors: expect.stringContaining('ENOENT') });
    expect(await run('list')).toMatchObject({ code: 1, errors: expect.stringContaining('ENOENT') });
  });

  test('a URL, without its password', async () => {
    url = 'redis://ops:s3cret@:99999/x';
    const { code, errors } = await run('list');
    expect(code).toBe(1);
    expect(errors).toContain('STATE_URL is redis://***@:99999/x');
  });

  test('a cluster that is not there, without its password', async () => {
    const who = 'ops:s3cret';
    url = `postgres://${who}@127.0.0.1:1,127.0.0.1:2/pay`;
    const { code, errors } = await run('list');
    expect(code).toBe(1);
    expect(errors).toMatch(
      /postgres:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/pay cannot be reached: none of its hosts takes writes/,
    );
    expect(errors).not.toContain('s3cret');
    const backup = await run('backup', join(folder, 'copy.db'));
    expect(backup).toMatchObject({ code: 1, errors: expect.stringContaining('pg_dump') });
  });
});

describe('as a process', () => {
  test('reads STATE_URL, and ends by itself', async () => {
    const { code, output } = await runProcess({ STATE_URL: url }, ['payments', 'list']);
    expect(output).toContain('aaaaaa111111');
    expect(code).toBe(0);
    const settled = await runProcess({ STATE_URL: url }, ['payments', 'settle', ids.unknown, ...complete]);
    expect(settled).toMatchObject({ code: 0, output: expect.stringContaining('Settled as DONE by Ada') });
    expect(await runProcess({}, ['payments', 'list'])).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^STATE_URL is memory:, or not set/),
    });
  });
});
