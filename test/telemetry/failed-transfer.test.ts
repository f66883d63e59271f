import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { reply } from '../support/faulty-bank.ts';
import { logLines } from '../support/log-lines.ts';
import { accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { type BankqlProcess, runProcess, startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

/** "My transfer failed at 10:32": answered from the info log and `payments find` alone. */

const state = { STATE_URL: `sqlite:${join(testFolder(), 'state.db')}` };
let bank: PaymentBank;
let bankql: BankqlProcess;
beforeAll(async () => {
  bank = await startPaymentBank();
  bankql = await startProcess({ ...state, BANK_BASE_URL: bank.url, RATE_LIMIT: '4/60' });
});
afterAll(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
});

interface Line {
  readonly time: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const linesOf = ({ output }: BankqlProcess): Line[] => logLines(output());

/** What an operator does: looks for what failed in that minute and is no query, and then for all lines of one of them. */
function failuresIn(from: number, to: number) {
  const lines = linesOf(bankql).filter(({ time }) => from <= time && time <= to);
  return lines
    .filter(({ msg, kind, outcome }) => msg === 'operation' && kind !== 'query' && outcome !== 'ok')
    .map((operation) => ({
      operation,
      lines: lines.filter(({ requestId }) => requestId === operation.requestId),
    }));
}

async function find(...options: string[]): Promise<Record<string, unknown>[]> {
  const { code, output } = await runProcess(state, ['payments', 'find', '--json', ...options]);
  expect(code).toBe(0);
  return JSON.parse(output);
}

/** Does something, and gives what the log says of the one that failed meanwhile. */
async function failureOf(act: () => Promise<unknown>) {
  const from = Date.now();
  await act();
  await expect.poll(() => failuresIn(from, Date.now())).toHaveLength(1);
  const [failure] = failuresIn(from, Date.now());
  if (failure === undefined) throw new Error('nothing failed');
  return failure;
}

test('a transfer that the bank refuses is found, with the bank’s words, in the log and in the records', async () => {
  expect((await pay(bankql.url, transfer('before'))).code).toBe('DONE');
  bank.decide = () => reply(400, '{"message":"The daily limit is used up."}');
  const { operation, lines } = await failureOf(() => pay(bankql.url, transfer('over-limit')));
  expect(operation).toMatchObject({ codes: ['BANK_REJECTED'], calls: 1, outcome: 'failed' });
  const refusal = lines.find(({ msg }) => msg === 'a payment is refused');
  expect(refusal).toMatchObject({
    operation: 'postMakeTransaction',
    status: 400,
    reason: expect.stringContaining('The daily limit is used up.'),
  });
  const expected = { state: 'REJECTED', status: 400, bankText: 'The daily limit is used up.' };
  expect(await find('--request-id', String(operation.requestId))).toMatchObject([expected]);
  const [record] = await find('--id', String(refusal?.payment));
  expect(record).toMatchObject({ ...expected, trackId: refusal?.trackId, caller: operation.caller });

  // Asked for again, the bank is not called, and the log says again why.
  const again = await failureOf(() => pay(bankql.url, transfer('over-limit')));
  expect(again.operation).toMatchObject({ codes: ['BANK_REJECTED'], calls: 0 });
  expect(again.lines).toContainEqual(expect.objectContaining({ payment: refusal?.payment, status: 400 }));
});

test('one whose outcome nobody knows is found as that, and one that bankql refuses says why', async () => {
  bank.decide = () => (socket) => void socket.resetAndDestroy();
  const unknown = await failureOf(() => pay(bankql.url, transfer('cut-off')));
  expect(unknown.operation).toMatchObject({ codes: ['OUTCOME_UNKNOWN'] });
  expect(unknown.lines.map(({ msg }) => msg)).toContain('a payment is of unknown outcome');
  expect(await find('--request-id', String(unknown.operation.requestId))).toMatchObject([
    { state: 'UNKNOWN' },
  ]);

  bank.decide = accept;
  const change = { value: { amount: '1.00', currency: 'EUR' } };
  const reused = await failureOf(() => pay(bankql.url, transfer('before', change)));
  const refusal = reused.lines.find(({ msg }) => msg === 'a payment is refused');
  expect(refusal).toMatchObject({ why: 'key reused', code: 'IDEMPOTENCY_KEY_REUSED' });
  expect(await find('--id', String(refusal?.payment))).toMatchObject([{ state: 'DONE' }]);

  expect((await pay(bankql.url, transfer('fourth'))).code).toBe('DONE');
  const limited = await failureOf(() => pay(bankql.url, transfer('fifth')));
  expect(limited.operation).toMatchObject({ codes: ['RATE_LIMITED'], caller: unknown.operation.caller });
  expect(await find('--request-id', String(limited.operation.requestId)).catch(() => [])).toEqual([]);
});

test('the log holds no credential, no idempotency key, no variable and no text of a query', () => {
  const output = bankql.output();
  for (const secret of Object.values(credentials)) expect(output).not.toContain(secret);
  const operations = linesOf(bankql).filter(({ msg }) => msg === 'operation');
  expect(operations).not.toEqual([]);
  for (const line of operations)
    expect(JSON.stringify(line)).not.toMatch(/over-limit|12\.50|makeTransaction/);
});
