import { exec } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashCaller, recordId } from '../../../src/payments/record.ts';
import type { PaymentRecord, PaymentStore } from '../../../src/payments/store.ts';
import { createMemoryStore } from '../../../src/payments/stores/memory-store.ts';
import {
  done,
  lease,
  pending,
  rejected,
  retentionMs,
  start,
  unknown,
} from '../../payments/stores/store-conformance.ts';
import { inSqliteStore, operate } from '../../support/operate.ts';
import { testFolder } from '../../support/test-folder.ts';

/** Finding payments, their stories, and settling many at once. */

const folder = testFolder();

const hour = 60 * 60 * 1000;
const now = start + 26 * hour;
const provider = 'https://login.example/';
const alice = [provider, 'alice'] as const;
const keyOf = (idempotencyKey: string) => recordId({ caller: alice, subscriptionKey: '' }, idempotencyKey);
let store: PaymentStore;

const id = (n: number) => `${n}`.repeat(64);
beforeEach(async () => {
  store = await createMemoryStore({ retentionMs });
  const caller = hashCaller(store.secret, ...alice);
  const begin = (change: Partial<PaymentRecord>) =>
    store.begin(pending({ leaseUntil: now + lease, ...change }), now - 2 * hour);
  const { trackId } = pending();
  await begin({ id: keyOf('key-1'), caller, accountId: 'a-1', trackId: 'track-1' });
  await store.end({ id: keyOf('key-1'), trackId: 'track-1', outcome: done });
  await begin({
    id: id(1),
    accountId: 'a-2',
    requestId: 'request-1',
    replica: 'host-1:42',
    createdAt: now - 2 * hour,
  });
  await store.end({
    id: id(1),
    trackId,
    outcome: { ...rejected, bankText: 'Limit\u001b[2J exceeded' },
  });
  for (const n of [2, 3, 4]) {
    await begin({ id: id(n), accountId: n === 4 ? 'a-4' : 'a-3', createdAt: now - n * hour });
    await store.end({ id: id(n), trackId, outcome: unknown });
  }
  await begin({ id: id(5), toAccountId: 'a-3', createdAt: now });
});

const run = (args: readonly string[], answer?: string) =>
  operate(args, {
    state: { url: 'sqlite:state.db', retentionMs },
    open: async () => ({ ...store, close: async () => {} }),
    answer,
    now,
  });

const idsOf = async (...args: string[]) => {
  const { output } = await run([...args, '--json']);
  return JSON.parse(output).map((record: PaymentRecord) => record.id);
};

describe('find', () => {
  test.each<[string, string[], string[]]>([
    ['key and caller', ['--key', 'key-1', '--caller', `${provider}/alice`], [keyOf('key-1')]],
    ['key and caller as JSON', ['--key', 'key-1', '--caller', JSON.stringify(alice)], [keyOf('key-1')]],
    ['caller, whose hash it computes', ['--caller', `${provider}/alice`], [keyOf('key-1')]],
    ['another caller', ['--caller', `${provider}/bob`], []],
    ['another key of the caller', ['--key', 'key-2', '--caller', `${provider}/alice`], []],
    ['Track-ID', ['--track-id', 'track-1'], [keyOf('key-1')]],
    ['request id', ['--request-id', 'request-1'], [id(1)]],
    ['account, that pays or is paid', ['--account', 'a-3'], [id(3), id(2), id(5)]],
    ['state', ['--state', 'unknown'], [id(4), id(3), id(2)]],
    ['several states', ['--state', 'rejected,pending'], [id(1), id(5)]],
    ['when it began', ['--since', '4h', '--until', '3h'], [id(4)]],
    ['an exact time', ['--since', '2026-01-16T01:30', '--until', '2026-01-16T03:00:00+01:00'], []],
    ['a time from when on', ['--since', '2026-01-16T01:30Z'], [id(5)]],
    ['all of them', ['--state', 'unknown', '--account', 'a-3', '--since', '150m'], [id(2)]],
  ])('by %s', async (_what, args, ids) => {
    expect(await idsOf('find', ...args)).toEqual(ids);
  });

  test('shows the state where there are several, and says when there are more', async () => {
    const { code, output, errors } = await run(['find', '--account', 'a-3', '--limit', '2']);
    expect(code).toBe(0);
    expect(output.split('\n')[0]).toMatch(/^id +state +created /);
    expect(output.trimEnd().split('\n')).toHaveLength(3);
    expect(errors).toBe('There are more than these 2: narrow the search, or give --limit.\n');
  });

  test('that finds nothing says so', async () => {
    expect(await run(['find', '--account', 'nobody'])).toMatchObject({
      code: 0,
      output: 'No payment is found.\n',
    });
  });

  test.each<[string, string[], RegExp]>([
    ['nothing to look for', ['find'], /find needs to be told what/],
    ['a key without its caller', ['find', '--key', 'k'], /--key is looked up together with its caller/],
    ['half a caller', ['find', '--caller', 'alice'], /--caller is provider\/id/],
    ['a caller of three', ['find', '--caller', '["a","b","c"]'], /--caller is provider\/id/],
    ['a time that is none', ['find', '--since', 'yesterday'], /--since is a time such as 2h/],
    ['a day that is none', ['find', '--since', '2026-13-01'], /--since is a time such as 2h/],
    ['a limit of none', ['find', '--state', 'done', '--limit', '0'], /--limit is a whole number from 1/],
    ['a word', ['find', 'alice'], /find does not take "alice"/],
    ['an unknown option', ['find', '--colour', 'red'], /Unknown option '--colour'/],
  ])('refuses %s, and shows how it is used', async (_what, args, reason) => {
    const { code, output, errors } = await run(args);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(reason);
    expect(errors).toContain('usage: bankql payments find');
  });
});

describe('show', () => {
  test('tells the whole story, and hands a terminal no commands of the bank', async () => {
    const { code, output, errors } = await run(['show', '111111']);
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain('requestId: request-1\n');
    expect(output.slice(output.indexOf('\n\n') + 2)).toBe(
      [
        '2026-01-16T00:00:00.000Z  PENDING   recorded, to be sent, by host-1:42, for request request-1',
        '2026-01-16T00:00:00.240Z  REJECTED  the bank answered 422, told as BANK_REJECTED: Limit\\u001b[2J exceeded',
        '',
      ].join('\n'),
    );
  });

  test('tells of a lease that ended, and of a settlement', async () => {
    await store.begin(pending({ id: id(7) }), start);
    await store.find(id(7));
    await store.settle(id(7), 'DONE', 'Ada: booked');
    const { output } = await run(['show', id(7)]);
    expect(output.trimEnd().split('\n').slice(-3)).toEqual([
      '2026-01-15T00:00:00.000Z  PENDING   recorded, to be sent',
      '2026-01-16T01:00:00.000Z  UNKNOWN   its lease ended, and how it ended was not recorded',
      '2026-01-16T02:00:00.000Z  DONE      settled by Ada: booked',
    ]);
  });

  test.each<[string[], RegExp]>([
    [['show'], /show takes one id/],
    [['show', '12345'], /show takes one id/],
    [['show', id(1), id(2)], /show takes one id/],
    [['show', 'abcabc'], /No payment begins with abcabc/],
  ])('%j is refused', async (args, reason) => {
    expect(await run(args)).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(reason) });
  });
});

describe('settle, many at once', () => {
  const verdict = ['--as', 'rejected', '--by', 'Ada', '--reason', 'incident 4711'];
  const states = async () => {
    const records = await store.search({});
    return Object.fromEntries(records.map((record) => [record.id[0], record.state]));
  };
  const untouched = { 1: 'REJECTED', 2: 'UNKNOWN', 3: 'UNKNOWN', 4: 'UNKNOWN', 5: 'PENDING' };

  test('shows what is found, asks once, settles, and leaves an audit line for each', async () => {
    const { code, output, errors, asked } = await run(['settle', '--account', 'a-3', ...verdict], 'yes');
    expect([code, errors]).toEqual([0, '']);
    expect(asked).toEqual(['Settle these 2 payments as REJECTED? [yes/no] ']);
    const lines = output.trimEnd().split('\n');
    expect(lines.slice(1, 3).map((line) => line.slice(0, 6))).toEqual(['333333', '222222']);
    const audit = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    const settledBy = 'Ada: incident 4711 (2026-01-16T02:00:00.000Z)';
    expect(audit).toMatchObject(
      [id(3), id(2)].map((settled) => ({
        audit: 'payment',
        id: settled,
        state: 'REJECTED',
        trackId: 'attempt-1',
        settledBy,
        time: now,
      })),
    );
    expect(JSON.stringify(audit)).not.toMatch(/fingerprint|sealedKey/);
    expect(lines.at(-1)).toBe(`Settled 2 of 2 as REJECTED by ${settledBy}`);
    expect(await states()).toMatchObject({ ...untouched, 2: 'REJECTED', 3: 'REJECTED' });
    expect(await store.find(id(2))).toMatchObject({ settledBy });
  });

  test('needs no terminal where --yes says it', async () => {
    expect((await run(['settle', '--state', 'unknown', '--yes', ...verdict])).code).toBe(0);
    expect(await states()).toMatchObject({
      1: 'REJECTED',
      2: 'REJECTED',
      3: 'REJECTED',
      4: 'REJECTED',
      5: 'PENDING',
    });
  });

  test.each<[string, string[], string | undefined, RegExp]>([
    [
      'nobody can be asked',
      ['--account', 'a-3'],
      undefined,
      /Nobody is at a terminal to be asked: say --yes/,
    ],
    ['the answer is no', ['--account', 'a-3'], 'no', /Nothing was written/],
    ['there is no answer', ['--account', 'a-3'], '', /Nothing was written/],
    ['nothing is found', ['--account', 'a-9'], 'yes', /No UNKNOWN payment is found/],
    ['other states are asked for', ['--state', 'done'], 'yes', /Only UNKNOWN payments are settled/],
    ['more are found than the limit', ['--limit', '1', '--state', 'unknown'], 'yes', /More than 1 UNKNOWN/],
    ['an id and a search are given', [id(2), '--account', 'a-3'], 'yes', /settle takes one id/],
    ['only a limit is given', ['--limit', '5'], 'yes', /settle takes one id/],
  ])('writes nothing where %s', async (_what, args, answer, reason) => {
    const { code, errors } = await run(['settle', ...args, ...verdict], answer);
    expect(code).toBe(1);
    expect(errors).toMatch(reason);
    expect(await states()).toMatchObject(untouched);
  });
});

describe('settle --from-log', () => {
  const end = (change: object = {}) =>
    JSON.stringify({
      level: 30,
      audit: 'payment',
      event: 'unwritten-end',
      id: id(5),
      trackId: 'attempt-1',
      state: 'DONE',
      updatedAt: now - 1000,
      answer: '{"id":"tx-1"}',
      code: null,
      status: 201,
      message: null,
      bankText: null,
      msg: 'payment',
      ...change,
    });
  let logs = 0;
  const log = (...lines: string[]) => {
    const file = join(folder, `${++logs}.log`);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  const find = (n: number) => store.find(id(n));

  test('writes the ends that a log holds, and only once', async () => {
    const file = log('bankql serves GraphQL', end({ event: undefined, id: id(2) }), end(), '{"level":30}');
    const first = await run(['settle', '--from-log', file], 'y');
    expect(first).toMatchObject({ code: 0, errors: '', asked: ['Write this end? [yes/no] '] });
    expect(first.output).toContain('Wrote 1 of 1.');
    expect(await find(5)).toMatchObject({ state: 'DONE', answer: '{"id":"tx-1"}', updatedAt: now - 1000 });
    expect(await find(2)).toMatchObject({ state: 'UNKNOWN' });
    const second = await run(['settle', '--from-log', file, '--yes']);
    expect(second.code).toBe(1);
    expect(second.errors).toContain('is DONE there already, and stays so.');
    expect(second.errors).toContain('Wrote 0 of 1. Unless this log was read before, it is of another store');
  });

  test('fails if the store has none of the payments, and says why for each', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `${n}`.repeat(32) + 'f'.repeat(32));
    const { code, output, errors } = await run([
      'settle',
      '--from-log',
      log(...ids.map((id) => end({ id }))),
      '--yes',
    ]);
    expect(code).toBe(1);
    expect(output).not.toContain('Wrote');
    for (const id of ids) expect(errors).toContain(`${id} is not in the store: nothing was written.`);
    expect(errors).toContain('Wrote 0 of 8.');
  });

  test('makes a key free again where nothing was sent', async () => {
    expect((await run(['settle', '--from-log', log(end({ state: 'RELEASED' })), '--yes'])).code).toBe(0);
    expect(await find(5)).toBeNull();
  });

  test('leaves what an operator has settled as it is', async () => {
    await run(['settle', id(2), '--as', 'rejected', '--by', 'Ada', '--reason', 'x']);
    await run(['settle', '--from-log', log(end({ id: id(2) })), '--yes']);
    expect(await find(2)).toMatchObject({ state: 'REJECTED' });
  });

  test('names a damaged line, and writes the others', async () => {
    const file = log(end({ trackId: 7 }), end());
    const { code, errors } = await run(['settle', '--from-log', file, '--yes']);
    expect(code).toBe(1);
    expect(errors).toContain(`${file}:1: `);
    expect(await find(5)).toMatchObject({ state: 'DONE' });
  });

  test.each<[string, () => string[], RegExp]>([
    ['a log without any', () => [log('{}')], /holds no unwritten end/],
    ['a file that is not there', () => [join(folder, 'none.log')], /cannot be read: ENOENT/],
    ['a search beside it', () => [log(end()), '--account', 'a-1'], /--from-log takes no other options/],
  ])('refuses %s', async (_what, args, reason) => {
    const { code, errors } = await run(['settle', '--from-log', ...args(), '--yes']);
    expect(code).toBe(1);
    expect(errors).toMatch(reason);
    expect(await find(5)).toMatchObject({ state: 'PENDING' });
  });
});

describe('find-missing --from-log', () => {
  const line = (n: number, change: object = {}) => {
    const { caller, bankId, operation } = pending();
    const fields = {
      id: id(n),
      trackId: 'attempt-1',
      state: 'PENDING',
      createdAt: now - hour,
      updatedAt: now - hour,
    };
    const named = { operation, caller, bankId, accountId: 'a-1', amount: '12.50', currency: 'EUR' };
    return JSON.stringify({ level: 30, audit: 'payment', ...fields, ...named, ...change, msg: 'payment' });
  };
  const log = (...lines: string[]) => {
    const file = join(folder, 'audit.log');
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };

  test('names the payments that were sent, or may have been, and that the store does not have', async () => {
    const file = log(
      'bankql serves GraphQL',
      line(2),
      line(6),
      line(6, { state: 'DONE', updatedAt: now - hour + 5 }),
      line(7),
      line(7, { state: 'NOT_SENT', updatedAt: now - hour + 5 }),
      line(8, { trackId: 'another attempt', accountId: 'a-\u001b[2J' }),
      line(9, { state: 'REJECTED', updatedAt: now - retentionMs - 1 }),
      '{"audit":"payment","id":7}',
    );
    const { code, output, errors } = await run(['find-missing', '--from-log', file]);
    expect(code).toBe(1);
    const rows = output.split('\n').slice(1, -1);
    expect(rows.map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
      [id(6).slice(0, 12), 'DONE'],
      [id(8).slice(0, 12), 'PENDING'],
    ]);
    expect(output).not.toContain('\u001b');
    expect(errors).toContain(`${file}:9: this audit line is damaged`);
    expect(errors).toContain('2 of 3 payments');
    const json = await run(['find-missing', '--from-log', file, '--json']);
    expect(
      json.output
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text).id),
    ).toEqual([id(6), id(8)]);
  });

  test('reads the first line behind a byte order mark, and refuses UTF-16', async () => {
    const file = log(`\uFEFF${line(6)}`, line(2));
    expect((await run(['find-missing', '--from-log', file])).errors).toContain('1 of 2 payments');
    writeFileSync(file, Buffer.from(`${line(2)}\n${line(6)}\n`, 'utf16le'));
    expect(await run(['find-missing', '--from-log', file])).toMatchObject({
      code: 1,
      output: '',
      errors: `${file} cannot be read: it is in UTF-16, or no text: save it in UTF-8.\n`,
    });
  });

  test('finds another attempt under the key no substitute', async () => {
    const { code, output } = await run(['find-missing', '--from-log', log(line(2, { trackId: 'lost' }))]);
    expect(code).toBe(1);
    expect(output).toContain('lost');
  });

  test('says that nothing is missing', async () => {
    const found = await run(['find-missing', '--from-log', log(line(2), line(3))]);
    expect(found).toMatchObject({ code: 0, errors: '' });
    expect(found.output).toContain('The store has all 2 payments');
  });

  test.each<[string, readonly string[], RegExp]>([
    ['no log', [], /--from-log FILE/],
    ['a log without audit lines', ['--from-log', 'package.json'], /has no audit line/],
    ['a file that is not there', ['--from-log', 'none.log'], /cannot be read/],
  ])('refuses %s', async (_, args, reason) => {
    const { code, errors } = await run(['find-missing', ...args]);
    expect(code).toBe(1);
    expect(errors).toMatch(reason);
  });
});

describe('help', () => {
  test('is printed for all and for each command, with an example', async () => {
    const all = await run(['--help']);
    expect(all).toMatchObject({ code: 0, errors: '' });
    const commands = [...all.output.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name = '']) => name);
    expect(commands).toEqual([
      ...['list', 'find', 'show', 'find-missing', 'settle', 'backup', 'restore', 'accept-loss'],
    ]);
    for (const command of commands) {
      const { code, output } = await run([command, '--help']);
      expect(code).toBe(0);
      expect(output).toMatch(new RegExp(`^usage: bankql payments ${command}`));
      expect(output).toMatch(new RegExp(`\\n {2}bankql payments ${command} [^\\n]+\\n$`));
    }
  });

  test('of a command that is not known is what there is', async () => {
    const { code, errors } = await run(['settel', id(2)]);
    expect(code).toBe(1);
    expect(errors).toContain('There is no command "settel".');
    expect(errors).toContain('Exit codes: 0 done, 1 not done');
  });
});

test('a reader that has seen enough is no error', async () => {
  const path = join(folder, 'many.db');
  await inSqliteStore(path, async (many) => {
    const times = { createdAt: Date.now(), updatedAt: Date.now(), leaseUntil: Date.now() + 600_000 };
    for (let n = 0; n < 200; n++)
      await many.begin(pending({ id: `${n}`.padStart(64, 'b'), ...times }), Date.now());
  });
  const entry = join(import.meta.dirname, '../../../bin/bankql.js');
  const command = `"${process.execPath}" "${entry}" payments list --state pending --json; echo "exit code $?" >&2`;
  // The shell's own status would be that of head.
  const { stdout, stderr } = await promisify(exec)(`(${command}) | head -c 1`, {
    env: { PATH: process.env.PATH ?? '', STATE_URL: `sqlite:${path}` },
  });
  expect([stdout, stderr]).toEqual(['[', 'exit code 0\n']);
});

test('accept-loss, backup and restore say what is theirs', async () => {
  const by = ['--by', 'Ada'];
  expect(await run(['accept-loss', ...by, '--reason', 'x', '--yes'])).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /^As far as is known here, no records are missing. Nothing was written. .*STATE_WITNESS/,
    ),
  });
  for (const [args, reason] of [
    [['accept-loss', '--reason', 'x'], /--by says who decided it/],
    [['accept-loss', ...by], /--reason says why it is right/],
    [['backup'], /backup takes one file/],
    [['restore', 'x'], /--by says who decided it/],
    [['restore', ...by], /restore takes one file/],
  ] as const)
    expect(await run(args)).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(reason) });
});
