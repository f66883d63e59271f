import { beforeEach, describe, expect, test } from 'vitest';
import { hashCaller, recordId } from '../../../src/payments/caller.ts';
import type { PaymentRecord } from '../../../src/payments/payment-record.ts';
import { done, rejected, unknown } from '../../payments/store/store-conformance.ts';
import { hour, openOperated } from '../../support/operate.ts';

/** The commands that find payments, and show their history. */

const provider = 'https://login.example/';
const alice = [provider, 'alice'] as const;
const keyOf = (idempotencyKey: string) => recordId({ caller: alice, subscriptionKey: '' }, idempotencyKey);
const id = (n: number) => `${n}`.repeat(64);

let operated: ReturnType<typeof openOperated>;
beforeEach(async () => {
  operated = openOperated();
  const { pay, store } = operated;
  const caller = hashCaller(store.secret, ...alice);
  await pay(26 * hour, { id: keyOf('key-1'), caller, accountId: 'a-1', trackId: 'track-1' }, done);
  await pay(4 * hour, { id: id(4), accountId: 'a-4' }, unknown);
  await pay(3 * hour, { id: id(3), accountId: 'a-3', toBankId: 'OTHRBANK', amount: null, currency: null });
  const said = { ...rejected, bankText: 'Limit\u001b[2J exceeded' };
  await pay(2 * hour, { id: id(1), accountId: 'a-2', requestId: 'request-1', replica: 'host-1:42' }, said);
  await pay(1000, { id: id(5), toAccountId: 'a-3' });
});

const run = (...args: string[]) => operated.run(args);
const idsOf = async (...args: string[]) => {
  const { output } = await run('list', ...args, '--json');
  return JSON.parse(output).map((record: PaymentRecord) => record.id);
};

describe('list', () => {
  test('shows the newest payments of all states first, one a line', async () => {
    const { code, output, errors } = await run('list');
    expect([code, errors]).toEqual([0, '']);
    const lines = output.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['id', 'state'],
      ['555555555555', 'PENDING'],
      ['111111111111', 'REJECTED'],
      ['333333333333', 'UNKNOWN'],
      ['444444444444', 'UNKNOWN'],
      [keyOf('key-1').slice(0, 12), 'DONE'],
    ]);
    expect(lines[3]?.split(/ {2,}/).slice(2)).toEqual([
      '2026-01-15T23:00:00.000Z',
      '3 h 0 min',
      'makeTransaction',
      'SNDBCY2N/a-3 -> OTHRBANK/bob-current',
      '-',
      'attempt-1',
      'OUTCOME_UNKNOWN',
      '-',
      'cccccccc',
    ]);
  });

  test.each<[string, string[], string[]]>([
    ['key and caller', ['--key', 'key-1', '--caller', `${provider}/alice`], [keyOf('key-1')]],
    ['key and caller as JSON', ['--key', 'key-1', '--caller', JSON.stringify(alice)], [keyOf('key-1')]],
    ['caller, whose hash it computes', ['--caller', `${provider}/alice`], [keyOf('key-1')]],
    ['another caller', ['--caller', `${provider}/bob`], []],
    ['another key of the caller', ['--key', 'key-2', '--caller', `${provider}/alice`], []],
    ['Track-ID', ['--track-id', 'track-1'], [keyOf('key-1')]],
    ['request id', ['--request-id', 'request-1'], [id(1)]],
    ['account, that pays or is paid', ['--account', 'a-3'], [id(5), id(3)]],
    ['state', ['--state', 'unknown'], [id(3), id(4)]],
    ['several states', ['--state', 'rejected,pending'], [id(5), id(1)]],
    ['when it began', ['--since', '4h', '--until', '3h'], [id(4)]],
    ['an exact time', ['--since', '2026-01-16T01:30', '--until', '2026-01-16T02:30:00+01:00'], []],
    ['a time from when on', ['--since', '2026-01-16T01:30Z'], [id(5)]],
    ['all of them', ['--state', 'unknown', '--account', 'a-3', '--since', '190m'], [id(3)]],
  ])('by %s', async (_what, args, ids) => {
    expect(await idsOf(...args)).toEqual(ids);
  });

  test('says when there are more', async () => {
    const { code, output, errors } = await run('list', '--state', 'unknown', '--limit', '1');
    expect(code).toBe(0);
    expect(output.trimEnd().split('\n')).toHaveLength(2);
    expect(errors).toBe('There are more than these 1: narrow the search, or give --limit.\n');
  });

  test('says when there is none', async () => {
    expect(await run('list', '--account', 'nobody')).toEqual({
      code: 0,
      output: 'No payment is found.\n',
      errors: '',
    });
    expect(await idsOf('--account', 'nobody')).toEqual([]);
  });

  test('prints no terminal commands that a client has written', async () => {
    const toAccountId = '\u001b]0;x\u0007\u009b2J\u202e\n';
    await operated.pay(500, { id: id(9), accountId: 'a-9', toAccountId });
    for (const args of [[], ['--json']]) {
      const { output } = await run('list', '--account', 'a-9', ...args);
      expect(output).toContain('\\u009b2J');
      expect(output).toMatch(/^[\P{C}\n]+$/u);
    }
    const { output } = await run('list', '--json');
    expect(JSON.parse(output)).toContainEqual(expect.objectContaining({ toAccountId }));
  });

  test('shows more of ids that begin the same way', async () => {
    await operated.pay(500, { id: `${'5'.repeat(16)}${'9'.repeat(48)}` });
    expect((await run('list')).output).toContain('55555555555555559999 ');
  });

  test.each<[string, string[], RegExp]>([
    ['a key without its caller', ['--key', 'k'], /--key is looked up together with its caller/],
    ['half a caller', ['--caller', 'alice'], /--caller is provider\/id/],
    ['a caller of three', ['--caller', '["a","b","c"]'], /--caller is provider\/id/],
    ['a state that is none', ['--state', 'gone'], /--state is unknown, pending, done or rejected, not gone/],
    ['a time that is none', ['--since', 'yesterday'], /--since is a time such as 2h/],
    ['a day that is none', ['--since', '2026-13-01'], /--since is a time such as 2h/],
    ['a limit of none', ['--limit', '0'], /--limit is a whole number from 1/],
  ])('refuses %s, and then shows how it is used', async (_what, args, reason) => {
    const { code, output, errors } = await run('list', ...args);
    expect([code, output]).toEqual([2, '']);
    expect(errors).toMatch(reason);
    expect(errors).toContain('\nusage: bankql payments list');
  });
});

describe('show', () => {
  test('tells the whole story, and hands a terminal no commands of the bank', async () => {
    const { code, output, errors } = await run('show', '111111');
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

  test('takes an id in capitals, too', async () => {
    const last = keyOf('key-1');
    const { output } = await run('show', last.slice(0, 12).toUpperCase());
    expect(output).toContain(`id: ${last}\n`);
  });

  test('tells of a lease that ended, and of a settlement', async () => {
    await operated.store.settle(id(3), 'DONE', 'Ada: booked');
    const { output } = await run('show', id(3));
    expect(output.trimEnd().split('\n').slice(-3)).toEqual([
      '2026-01-15T23:00:00.000Z  PENDING   recorded, to be sent',
      '2026-01-16T02:00:00.000Z  UNKNOWN   its lease ended, and how it ended was not recorded',
      '2026-01-16T02:00:00.000Z  DONE      settled by Ada: booked',
    ]);
  });

  test.each<[string[], number, RegExp]>([
    [[], 2, /show takes one id/],
    [['12345'], 2, /An id is hexadecimal .* at least its first six digits, not 12345/],
    [[id(1), id(2)], 2, /show takes one id/],
    [['abcabc'], 1, /No payment begins with abcabc/],
  ])('%j is refused', async (args, code, reason) => {
    expect(await run('show', ...args)).toMatchObject({
      code,
      output: '',
      errors: expect.stringMatching(reason),
    });
  });

  test('asks for more of an id that several payments begin with', async () => {
    await operated.pay(500, { id: `111111${'9'.repeat(58)}` });
    expect(await run('show', '111111')).toMatchObject({
      code: 1,
      errors: 'Several payments begin with 111111: give more of the id.\n',
    });
  });
});
