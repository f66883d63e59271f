import { beforeEach, describe, expect, test } from 'vitest';
import type { PaymentOutcome } from '../../../src/payments/payment-record.ts';
import { done, pending, rejected, unknown } from '../../payments/store/store-conformance.ts';
import { ada, hour, now, openOperated } from '../../support/operate.ts';

const { trackId } = pending();
const ids = {
  unknown: `aaaaaa${'1'.repeat(58)}`,
  leaseOver: `aaaaaa${'2'.repeat(58)}`,
  other: `bbbbbb${'1'.repeat(58)}`,
  done: `dddddd${'3'.repeat(58)}`,
  rejected: `eeeeee${'4'.repeat(58)}`,
  pending: `ffffff${'5'.repeat(58)}`,
};
let operated: ReturnType<typeof openOperated>;
beforeEach(async () => {
  operated = openOperated();
  const { pay } = operated;
  await pay(3 * hour, { id: ids.unknown, accountId: 'a-3' }, unknown);
  await pay(3 * hour, { id: ids.other, accountId: 'a-4' }, unknown);
  await pay(3 * hour, { id: ids.done }, done);
  await pay(3 * hour, { id: ids.rejected }, rejected);
  await pay(2 * hour, { id: ids.leaseOver, accountId: 'a-3' });
  await pay(0, { id: ids.pending });
});

const run = (args: readonly string[], answer?: string) => operated.run(['settle', ...args], answer);
const complete = ['--as', 'done', ...ada];
const states = async () =>
  Object.fromEntries((await operated.store.search({})).map(({ id, state }) => [id.slice(0, 7), state]));
const untouched = {
  aaaaaa1: 'UNKNOWN',
  aaaaaa2: 'UNKNOWN',
  bbbbbb1: 'UNKNOWN',
  dddddd3: 'DONE',
  eeeeee4: 'REJECTED',
  ffffff5: 'PENDING',
};
const settledBy = 'Ada: incident 4711 (2026-01-16T02:00:00.000Z)';

describe('payments settle, with one id', () => {
  test('shows it, asks, and writes down what the bank did, who says so and why', async () => {
    const { code, output, errors, asked } = await run([ids.unknown.slice(0, 8), ...complete], 'yes');
    expect([code, errors]).toEqual([0, '']);
    expect(asked).toEqual(['Settle this payment as DONE? [yes/no] ']);
    expect(output).toContain(`id: ${ids.unknown}\n`);
    expect(output).toContain('trackId: attempt-1\n');
    expect(output).toContain('createdAt: 2026-01-15T23:00:00.000Z\n');
    expect(output).toContain(`Settled 1 of 1 as DONE by ${settledBy}\n`);
    // The record had the code of an unknown outcome, which this line must not have.
    expect(output).toMatch(/"code":null,.*"state":"DONE",.*"msg":"payment settled"/);
    expect(await operated.store.find(ids.unknown)).toMatchObject({
      state: 'DONE',
      settledBy,
      updatedAt: now,
    });
    expect(await states()).toEqual({ ...untouched, aaaaaa1: 'DONE' });
  });

  test('settles as rejected a payment whose lease is over, without a question where --yes says it', async () => {
    expect((await run([ids.leaseOver, '--as', 'rejected', ...ada, '--yes'])).code).toBe(0);
    expect(await operated.store.find(ids.leaseOver)).toMatchObject({ state: 'REJECTED' });
  });

  test.each<[string | undefined, number, RegExp]>([
    [
      undefined,
      2,
      /^Settle this payment as DONE\? There is no terminal for the question: give --yes\. Nothing was/,
    ],
    ['no', 1, /^Nothing was written\.\n$/],
    ['', 1, /^Nothing was written\.\n$/],
  ])('shows it, and writes nothing if the answer is %j', async (answer, exitCode, reason) => {
    const { code, output, errors } = await run([ids.unknown, ...complete], answer);
    expect([code, operated.writes]).toEqual([exitCode, 0]);
    expect(output).toContain(`id: ${ids.unknown}\n`);
    expect(errors).toMatch(reason);
    expect(await states()).toEqual(untouched);
  });

  test.each<[string, string[], RegExp]>([
    ['an ambiguous id', ['aaaaaa', ...complete], /Several payments begin with aaaaaa: give more/],
    ['an id that nothing has', ['abcdef', ...complete], /No payment begins with abcdef/],
    ['a payment that is DONE', ['dddddd', ...complete], /dddddd3+ is DONE: only an UNKNOWN/],
    ['a payment that was REJECTED', ['eeeeee', ...complete], /is REJECTED/],
    ['a payment that is under way', ['ffffff', ...complete], /is PENDING/],
    ['no id', complete, /settle takes one id/],
    ['a short id', ['aaaaa', ...complete], /at least its first six/],
    ['a word that is no id', ['zzz', ...complete], /An id is hexadecimal/],
    ['two ids', [ids.unknown, ids.other, ...complete], /settle takes one id/],
    ['no outcome', [ids.unknown, ...ada], /--as says what the bank did/],
    ['another outcome', [ids.unknown, '--as', 'unknown', ...ada], /--as says/],
    ['nobody', [ids.unknown, '--as', 'done', '--reason', 'x'], /--by says who/],
    ['a blank name', [ids.unknown, '--as', 'done', '--by', ' ', '--reason', 'x'], /--by says who/],
    ['no reason', [ids.unknown, '--as', 'done', '--by', 'Ada'], /--reason says how/],
    ['two lines', [ids.unknown, '--as', 'done', '--by', 'Ada', '--reason', 'a\nb'], /in one line/],
  ])('refuses %s, and writes nothing', async (_, args, reason) => {
    const { code, output, errors } = await run([...args, '--yes']);
    expect([output, operated.writes]).toEqual(['', 0]);
    expect(errors).toMatch(reason);
    // 2 means that the command line is invalid, whatever the store contains.
    expect(code).toBe(errors.includes('\nusage: bankql payments settle') ? 2 : 1);
    expect(await states()).toEqual(untouched);
  });
});

describe('payments settle, with a search', () => {
  const verdict = ['--as', 'rejected', ...ada];

  test('shows what is found, asks once, settles, and leaves an audit line for each', async () => {
    const { code, output, errors, asked } = await run(['--account', 'a-3', ...verdict], 'yes');
    expect([code, errors]).toEqual([0, '']);
    expect(asked).toEqual(['Settle these 2 payments as REJECTED? [yes/no] ']);
    const lines = output.trimEnd().split('\n');
    expect(lines.slice(1, 3).map((line) => line.slice(0, 7))).toEqual(['aaaaaa2', 'aaaaaa1']);
    const audit = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    expect(audit).toMatchObject(
      [ids.leaseOver, ids.unknown].map((id) => ({
        audit: 'payment',
        id,
        state: 'REJECTED',
        trackId,
        settledBy,
        time: now,
      })),
    );
    expect(JSON.stringify(audit)).not.toMatch(/fingerprint|idempotencyKey/);
    expect(lines.at(-1)).toBe(`Settled 2 of 2 as REJECTED by ${settledBy}`);
    expect(await states()).toEqual({ ...untouched, aaaaaa1: 'REJECTED', aaaaaa2: 'REJECTED' });
  });

  describe('by the text of the bank', () => {
    const text = 'Saldo\n"insuficiente"';
    const count = 1_001;
    const others = { 'no text': null, 'a longer text': `${text}.`, 'another text': 'Saldo' };
    const unknownWith = (bankText: string | null) => ({ ...unknown, bankText });
    const stateOf = async (id: string) => (await operated.store.find(id))?.state;

    beforeEach(async () => {
      const pay = (id: string, outcome: PaymentOutcome) => operated.pay(hour, { id, trackId: id }, outcome);
      for (let n = 0; n < count; n++) await pay(`text-${n}`, unknownWith(text));
      for (const [id, bankText] of Object.entries(others)) await pay(id, unknownWith(bankText));
      await pay('refused', { ...rejected, bankText: text });
    });

    test.each([
      ['as it is', text],
      ['as show prints it', 'Saldo\\u000a"insuficiente"'],
    ])('%s shows all UNKNOWN payments with it, asks, and settles them', async (_, given) => {
      const { code, errors, output, asked } = await run(['--bank-text', given, ...verdict], 'yes');
      expect([code, errors]).toEqual([0, '']);
      expect(asked).toEqual([`Settle these ${count} payments as REJECTED? [yes/no] `]);
      expect(output.split('\n').filter((line) => line.startsWith('text-'))).toHaveLength(count);
      expect(output).toContain(`Settled ${count} of ${count} as REJECTED`);
      expect(await operated.store.find('text-0')).toMatchObject({
        state: 'REJECTED',
        bankText: text,
        settledBy,
      });
      expect(await stateOf(`text-${count - 1}`)).toBe('REJECTED');
      for (const id of Object.keys(others)) expect(await stateOf(id)).toBe('UNKNOWN');
      expect(await operated.store.find('refused')).toMatchObject({ settledBy: null });
      expect(await stateOf(ids.unknown)).toBe('UNKNOWN');
    });

    test('settles no more than --limit says, and nothing without an answer or with another text', async () => {
      expect((await run(['--bank-text', text, '--limit', '5', ...verdict], 'yes')).errors).toMatch(
        /More than 5/,
      );
      expect((await run(['--bank-text', text, ...verdict], 'no')).errors).toMatch(/Nothing was written/);
      expect((await run(['--bank-text', 'saldo', ...verdict], 'yes')).errors).toMatch(/No UNKNOWN payment/);
      expect([operated.writes, await stateOf('text-0')]).toEqual([0, 'UNKNOWN']);
    });
  });

  test('needs no terminal where --yes says it', async () => {
    expect((await run(['--state', 'unknown', '--yes', ...verdict])).code).toBe(0);
    expect(Object.values(await states()).sort()).toEqual([
      'DONE',
      'PENDING',
      'REJECTED',
      'REJECTED',
      'REJECTED',
      'REJECTED',
    ]);
  });

  test.each<[string, number, string[], string | undefined, RegExp]>([
    ['nothing is found', 1, ['--account', 'a-9'], 'yes', /No UNKNOWN payment is found/],
    ['other states are asked for', 2, ['--state', 'done'], 'yes', /Only UNKNOWN payments are settled/],
    [
      'more are found than the limit',
      1,
      ['--limit', '1', '--state', 'unknown'],
      'yes',
      /More than 1 UNKNOWN/,
    ],
    ['an id and a search are given', 2, [ids.other, '--account', 'a-3'], 'yes', /settle takes one id/],
    ['only a limit is given', 2, ['--limit', '5'], 'yes', /settle takes one id/],
  ])('writes nothing where %s', async (_what, exitCode, args, answer, reason) => {
    const { code, errors } = await run([...args, ...verdict], answer);
    expect([code, operated.writes]).toEqual([exitCode, 0]);
    expect(errors).toMatch(reason);
    expect(await states()).toEqual(untouched);
  });
});
