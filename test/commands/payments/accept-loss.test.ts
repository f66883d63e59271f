import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { authenticateByHeaders } from '../../../src/http/auth/header-credentials.ts';
import { openStore } from '../../../src/payments/store/open-store.ts';
import { lease, pending, retentionMs, unknown } from '../../payments/store/store-conformance.ts';
import { createTestBankql, type TestOptions } from '../../support/bankql.ts';
import { ada, hour, inStore, operate } from '../../support/operate.ts';
import { startRecordingBank } from '../../support/recording-bank.ts';
import { testFolder } from '../../support/test-folder.ts';

/** Payments that are in a log but not in the store. */

const folder = testFolder();
const now = Date.now();
const id = (n: number) => `${n}`.repeat(64);
let url = '';
let path = '';
let log = '';
let stores = 0;
beforeEach(() => {
  path = join(folder, `${++stores}.db`);
  url = `sqlite:${path}`;
  log = join(folder, `${stores}.log`);
});

const run = (args: readonly string[], answer?: string) => operate(args, { url, answer, now });
const acceptLoss = (answer?: string) => run(['accept-loss', '--from-log', log, ...ada], answer);
const records = () => inStore(url, (store) => store.search({}));

/** An audit line. */
const line = (n: number, change: object = {}) => {
  const { caller, bankId, operation } = pending();
  const at = { createdAt: now - hour, updatedAt: now - hour };
  const named = { operation, caller, bankId, accountId: 'a-1', amount: '12.50', currency: 'EUR' };
  const fields = { id: id(n), trackId: `attempt-${n}`, state: 'PENDING', ...at, ...named, ...change };
  return JSON.stringify({ level: 30, audit: 'payment', ...fields, msg: 'payment' });
};
const writeLog = (...lines: string[]) => writeFileSync(log, `${lines.join('\n')}\n`);

describe('accept-loss --from-log', () => {
  test('records as UNKNOWN what was sent, or may have been, and is not in the store, after a yes', async () => {
    await inStore(url, async (store) => {
      await store.begin(pending({ id: id(2), trackId: 'attempt-2' }), lease);
      await store.end({ id: id(2), trackId: 'attempt-2', outcome: unknown });
    });
    const sentBy = { requestId: 'request-6', replica: 'host:1' };
    writeLog(
      'bankql serves GraphQL',
      line(2),
      line(6, sentBy),
      line(6, { ...sentBy, state: 'DONE', status: 200, updatedAt: now - hour + 5 }),
      line(7),
      line(7, { state: 'NOT_SENT', updatedAt: now - hour + 5 }),
      line(8, { accountId: 'a-\u001b[2J' }),
      line(9, { state: 'REJECTED', updatedAt: now - retentionMs - 1 }),
      '{"audit":"payment","id":7}',
      '{"audit":"payment"',
    );
    const refused = await acceptLoss('no');
    expect(refused).toMatchObject({
      code: 1,
      asked: ['Record these 2 payments as UNKNOWN, whatever the log says? [yes/no] '],
      errors: `${log}:9: this audit line is damaged, and left out.\n${log}:10: this audit line is damaged, and left out.\nNothing was written.\n`,
    });
    expect(await records()).toHaveLength(1);

    const { code, output } = await acceptLoss('yes');
    expect(code).toBe(0);
    const lines = output.trimEnd().split('\n');
    expect(lines.slice(1, 3).map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
      [id(6).slice(0, 12), 'DONE'],
      [id(8).slice(0, 12), 'PENDING'],
    ]);
    expect(output).not.toContain('\u001b');
    expect(lines.at(-1)).toBe('Recorded 2 payments as UNKNOWN, by Ada: incident 4711');
    const found = await records();
    expect(found.map((record) => [record.id, record.state]).sort()).toEqual([
      [id(2), 'UNKNOWN'],
      [id(6), 'UNKNOWN'],
      [id(8), 'UNKNOWN'],
    ]);
    expect(found.find((record) => record.id === id(6))).toMatchObject({
      ...{ trackId: 'attempt-6', createdAt: now - hour, accountId: 'a-1', amount: '12.50' },
      ...{ ...sentBy, status: 200 },
    });
    const story = (await run(['show', id(6)])).output.trimEnd().split('\n').slice(-2);
    expect(story).toEqual([
      expect.stringMatching(/PENDING {3}recorded, to be sent, by host:1, for request request-6$/),
      expect.stringMatching(
        /UNKNOWN {3}its record was lost, and made again from a log by Ada: incident 4711 \(the log says DONE\)$/,
      ),
    ]);

    expect(await acceptLoss()).toMatchObject({
      code: 0,
      output: `The store has each payment of ${log} that it has to keep. Nothing was written.\n`,
    });
  });

  test('reads lines behind the prefix of a log collector, and reports those that another text contains', async () => {
    await inStore(url, async () => {});
    writeLog(
      `[pod/bankql-0/bankql] ${line(1)}`,
      `bankql-1  | ${line(2)}`,
      `2026-01-15T10:30:00.000000000Z stdout F ${line(3)}`,
      `Jan 15 10:30:00 host bankql[7]: ${line(4)}`,
      JSON.stringify({ log: `${line(5)}\n`, stream: 'stdout' }),
    );
    expect(await run(['accept-loss', '--from-log', log, ...ada, '--yes'])).toMatchObject({
      code: 0,
      errors: `${log}:5: this audit line is damaged, and left out.\n`,
    });
    expect((await records()).map((record) => record.id).sort()).toEqual([1, 2, 3, 4].map(id));
  });

  test('asks for --yes where nobody is at a terminal', async () => {
    await inStore(url, async () => {});
    writeLog(line(1));
    const refused = await acceptLoss();
    expect(refused).toMatchObject({
      code: 2,
      errors: expect.stringContaining('give --yes. Nothing was written.'),
    });
    expect(await records()).toEqual([]);
    expect(await run(['accept-loss', '--from-log', log, ...ada, '--yes'])).toMatchObject({ code: 0 });
    expect(await records()).toHaveLength(1);
  });

  test.each<[string, () => void, RegExp]>([
    ['a log without audit lines', () => writeLog('{"level":30}'), /has no audit line of a payment/],
    ['a file that is not there', () => {}, /cannot be read: ENOENT/],
  ])('refuses %s', async (_what, write, reason) => {
    await inStore(url, async () => {});
    write();
    expect(await acceptLoss('yes')).toMatchObject({ code: 1, errors: expect.stringMatching(reason) });
  });

  test.each<[string[], RegExp]>([
    [['--reason', 'x'], /--by says who decided it/],
    [['--by', 'Ada'], /--reason says why it is right/],
  ])('%j is refused', async (args, reason) => {
    expect(await run(['accept-loss', ...args])).toMatchObject({
      code: 2,
      errors: expect.stringMatching(reason),
    });
  });

  test('without a log there is nothing to accept in a store that has all records, as far as it knows', async () => {
    await inStore(url, async () => {});
    expect(await run(['accept-loss', ...ada, '--yes'])).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^As far as the store knows, it has all records/),
    });
  });
});

describe('a SQLite store that was made anew after its volume was lost', () => {
  const pay = (amount = '1') =>
    `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "${amount}" }, idempotencyKey: "key" }) {
      payment { state } userErrors { code message } } }`;
  const find = '{ payment(idempotencyKey: "key") { state idempotencyKey value { amount } } }';

  /** Pays, deletes the store, and recovers it from the log. `options`: how bankql identifies its callers. */
  async function recovered(bankUrl: string, options: Partial<TestOptions> = {}) {
    await run(['init']);
    const open = async () => {
      const store = await openStore(url, { retentionMs, timeoutMs: 60_000 });
      return createTestBankql({ bankUrl, store, ...options });
    };
    {
      await using bankql = await open();
      expect((await bankql.ask(pay())).data).toMatchObject({
        makeTransaction: { payment: { state: 'DONE' } },
      });
      writeLog(...bankql.audit.map((entry) => JSON.stringify({ audit: 'payment', ...entry })));
    }
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    await run(['init']);
    expect(await acceptLoss('yes')).toMatchObject({ code: 0 });
    return open();
  }

  test('sends no payment again that the log names, and says that it may have been executed', async () => {
    await using bank = await startRecordingBank();
    bank.otherwise({ body: { id: 'TX' } });
    await using bankql = await recovered(bank.url);
    const sent = bank.calls.length;
    const again = {
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/may have been executed.*not sent again.*ask the bank/),
    };
    expect((await bankql.ask(pay())).data).toMatchObject({ makeTransaction: { userErrors: [again] } });
    // bankql cannot know that this is the caller who paid, so the answer reveals nothing of the payment.
    expect(await bankql.ask(find)).toMatchObject({
      data: { payment: null },
      errors: [{ message: again.message, extensions: { code: again.code } }],
    });
    const [record] = await records();
    await run(['settle', record?.id ?? '', '--as', 'rejected', ...ada, '--yes']);
    expect((await bankql.ask(pay())).data).toMatchObject({ makeTransaction: { userErrors: [again] } });
    expect(bank.calls).toHaveLength(sent);
  });

  test('shows a caller whose identity is proven their payment, and how it was settled', async () => {
    await using bank = await startRecordingBank();
    bank.otherwise({ body: { id: 'TX' } });
    const proven = { authenticate: authenticateByHeaders('key-of-bankql', true) };
    await using bankql = await recovered(bank.url, proven);
    const sent = bank.calls.length;
    expect((await bankql.ask(pay('2'))).data).toMatchObject({
      makeTransaction: { userErrors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] },
    });
    expect((await bankql.ask(pay())).data).toMatchObject({
      makeTransaction: { payment: { state: 'UNKNOWN' }, userErrors: [{ code: 'OUTCOME_UNKNOWN' }] },
    });
    expect((await bankql.ask(find)).data).toEqual({
      payment: { state: 'UNKNOWN', idempotencyKey: 'key', value: { amount: '1' } },
    });
    // The log contains a hash of the caller that was made with the old store's secret. The new store has
    // another secret, so it cannot list the payment by its caller.
    expect((await bankql.ask('{ payments { totalCount } }')).data).toEqual({ payments: { totalCount: 0 } });
    const [record] = await records();
    await run(['settle', record?.id ?? '', '--as', 'done', ...ada, '--yes']);
    expect((await bankql.ask(pay())).data).toMatchObject({
      makeTransaction: { payment: { state: 'DONE' }, userErrors: [] },
    });
    expect(bank.calls).toHaveLength(sent);
  });
});
