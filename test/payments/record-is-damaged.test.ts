import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { logLines } from '../support/log-lines.ts';
import { ada, operate } from '../support/operate.ts';
import { type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, post, startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();

describe.each(sharedStates)('a payment in $name whose record is damaged', ({ start }) => {
  let bank: PaymentBank;
  let state: State;
  let bankql: BankqlProcess;
  const told = new Map<string, Told>();
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    bankql = made.use(
      await startProcess({ BANK_BASE_URL: bank.url, STATE_URL: state.url, METRICS_PORT: '0' }),
    );
    for (const key of ['well', 'executed', 'not-executed'])
      told.set(key, await pay(bankql.url, transfer(key)));
    await state.damage('executed');
    await state.damage('not-executed');
  });
  const run = (...args: string[]) => operate(args, { url: state.url });
  const payments = `{ payments { nodes { accountId state trackId failureMessage value { amount } } } }`;
  const metric = 'bankql_payment_refusals_total{why="record damaged"}';

  test('is not sent again, and the refusal says that the record is damaged', async () => {
    for (const key of ['executed', 'not-executed'])
      expect(await pay(bankql.url, transfer(key))).toMatchObject({
        code: 'STATE_UNAVAILABLE',
        message: expect.stringContaining('record of this payment is damaged'),
        retryAfter: 60,
      });
    expect(await pay(bankql.url, transfer('well'))).toEqual({ ...told.get('well'), replayed: true });
    for (const key of told.keys()) expect(bank.of(key)).toHaveLength(1);
    const [{ metrics }] = logLines(bankql.output(), 'bankql serves');
    const text = await (await fetch(metrics)).text();
    expect(text).toContain(`${metric} 2\n`);
    expect(text).toContain('bankql_payment_refusals_total{why="not logged"} 0\n');
  });

  test('stands in the list of its caller as UNKNOWN, beside the others', async () => {
    const { trackId } = told.get('executed') ?? {};
    expect(await post(bankql.url, payments, credentials)).toMatchObject({
      data: {
        payments: {
          nodes: [
            { accountId: 'not-executed', state: 'UNKNOWN' },
            {
              ...{ accountId: 'executed', state: 'UNKNOWN', trackId, value: null },
              failureMessage: expect.stringContaining('its stored record is damaged'),
            },
            { accountId: 'well', state: 'DONE', value: { amount: '12.50' } },
          ],
        },
      },
    });
    expect(await post(bankql.url, payments, { ...credentials, 'Auth-ID': 'another' })).toEqual({
      data: { payments: { nodes: [] } },
    });
  });

  test('is shown to an operator as damaged, and is not among the lost ones', async () => {
    const { trackId = '' } = told.get('executed') ?? {};
    const found = await run('list');
    expect(found).toMatchObject({ code: 0, errors: '' });
    expect(found.output).toMatch(/ UNKNOWN \(damaged\) .*-\/executed -> -\/to .*/);
    expect(found.output).toMatch(/ DONE +.*BANK\/well -> TO-BANK\/to/);
    const [row] = (await run('list', '--track-id', String(trackId))).output.split('\n').slice(1);
    const shown = await run('show', String(row?.split(' ')[0]));
    expect(shown).toMatchObject({ code: 0, errors: '' });
    expect(shown.output).toMatch(/^damaged: true$/m);
    const log = join(folder, 'log');
    writeFileSync(log, bankql.output());
    expect(await run('accept-loss', '--from-log', log, ...ada)).toMatchObject({
      code: 0,
      output: expect.stringContaining('The store has each payment'),
    });
  });

  test.each([
    ['executed', 'done', 'DONE'],
    ['not-executed', 'rejected', 'BANK_REJECTED'],
  ])(
    'that was %s is settled as %s: its key is answered so, and nothing is sent again',
    async (key, as, code) => {
      const { trackId } = told.get(key) ?? {};
      const [row] = (await run('list', '--track-id', String(trackId))).output.split('\n').slice(1);
      const settled = await run('settle', String(row?.split(' ')[0]), '--as', as, ...ada, '--yes');
      expect(settled).toMatchObject({ code: 0, errors: '' });
      expect(await pay(bankql.url, transfer(key))).toMatchObject({
        code,
        trackId,
        replayed: code === 'DONE',
      });
      expect((await pay(bankql.url, transfer(key, { to: { accountId: 'else' } }))).code).toBe(
        'IDEMPOTENCY_KEY_REUSED',
      );
      const other = { headers: { 'Ocp-Apim-Subscription-Key': 'another' } };
      expect((await pay(bankql.url, transfer(key), other)).code).toBe('IDEMPOTENCY_KEY_REUSED');
      const asked = `{ payment(idempotencyKey: "${key}") { state trackId idempotencyKey } }`;
      expect(await post(bankql.url, asked, credentials)).toEqual({
        data: { payment: { state: as.toUpperCase(), trackId, idempotencyKey: key } },
      });
      expect(bank.of(key)).toHaveLength(1);
    },
  );
});
