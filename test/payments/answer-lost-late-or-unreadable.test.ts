import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openStore } from '../../src/payments/store/open-store.ts';
import { bankDefaults, createTestBankql, type TestBankql } from '../support/bankql.ts';
import { type Act, answer, hang, reply, reset, write, writeThen } from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { withLimits } from '../support/limits.ts';
import { accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { type Payment, type PayOptions, pay, type Told, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';

/**
 * The time limit of each test. The deadline of payments is twice as long, so that it passes only if the test
 * lets it pass.
 */
const testMs = 300_000;
/** Resolves when the client has its answer. */
let told = Promise.withResolvers<void>();
const head = (lines: string) => `HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`;
const json = 'Content-Type: application/json';

/**
 * Behaviours of a bank that has read a payment. Afterwards, nobody can know whether it executed the payment. The bodies of
 * answers are in bank-answers.ts.
 */
const faults: readonly [string, Act][] = [
  ['a reset', reset],
  ['an end of the connection', (socket) => void socket.end()],
  ['headers and a reset', writeThen('reset', head(`${json}\r\nContent-Length: 20`))],
  ['half an answer and a reset', writeThen('reset', `${head(`${json}\r\nContent-Length: 20`)}{"id":`)],
  ['half an answer and the end', writeThen('end', `${head(`${json}\r\nContent-Length: 20`)}{"id":`)],
  ['an answer without its length, cut off', writeThen('end', `${head(json)}{"id":`)],
  [
    'chunks without the last',
    writeThen('end', `${head(`${json}\r\nTransfer-Encoding: chunked`)}2\r\n{}\r\n`),
  ],
  [
    'nothing after a head whose transfer coding has no end',
    writeThen('end', head('Transfer-Encoding: identity')),
  ],
  ['bytes that are no HTTP', writeThen('end', 'SSH-2.0-OpenSSH_9.2\r\n')],
  ...[202, 408, 409, 410, 418, 425, 500, 501, 502, 503, 504, 599].map((status): [string, Act] => [
    `status ${status}`,
    reply(status, '{"message":"no"}', { 'Retry-After': '0' }),
  ]),
  ...[301, 302, 303, 307, 308].map((status): [string, Act] => [
    `a redirect (${status})`,
    reply(status, '', { Location: '/v1/api/banks/BANK/accounts/elsewhere/make-transaction' }),
  ]),
  ['200 with garbage', reply(200, '{"id": tx-1')],
  ['200 with bytes that are not UTF-8', reply(200, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))],
  [
    '200 in another charset',
    reply(200, '{"id":"TX"}', { 'Content-Type': 'application/json; charset=ISO-8859-1' }),
  ],
  [
    'a refusal in another charset',
    reply(422, '{"code":"AM04","message":"Insufficient funds"}', {
      'Content-Type': 'application/json; charset=windows-1252',
    }),
  ],
  [
    '200 in another charset, which its encoding names',
    reply(200, '{"id":"TX"}', { 'Content-Encoding': 'utf-16le' }),
  ],
  [
    '200 with 20 kB of headers',
    write(head(`${json}\r\nX: ${'x'.repeat(20_000)}\r\nContent-Length: 2`), '{}'),
  ],
  ['200 with an encoded body', reply(200, 'x', { 'Content-Encoding': 'gzip' })],
  ['200 with more than bankql reads', reply(200, `{"id":"${'x'.repeat(5000)}"}`)],
];

/** What a bank does until the deadline has passed. */
const late: readonly [string, Act][] = [
  ['nothing', hang],
  ['an answer that comes too late', (socket) => void told.promise.then(() => reply(201, '{}')(socket))],
  ['headers and nothing more', write(head(`${json}\r\nContent-Length: 20`))],
  ['an interim answer and nothing more', write('HTTP/1.1 102 Processing\r\n\r\n')],
];

/** Answers that say how the payment ended, with the resulting code. */
const answers: readonly (readonly [string, Act, string])[] = [
  ['200 and nothing', reply(200, '', { 'Content-Type': '' }), 'DONE'],
  ['200 with an object', reply(200, '{}'), 'DONE'],
  ['200 with OK', reply(200, 'OK', { 'Content-Type': 'text/plain' }), 'DONE'],
  [
    '200 in UTF-8, which its encoding names',
    reply(200, '{"id":"TX"}', { 'Content-Encoding': 'UTF-8' }),
    'DONE',
  ],
  ['200 behind a BOM', reply(200, '\uFEFF{"id":"TX"}'), 'DONE'],
  ['200 and a failure', reply(200, '{"status":"Declined"}'), 'BANK_REJECTED'],
  ['204', write('HTTP/1.1 204 No Content\r\n\r\n'), 'DONE'],
  ['an interim answer and 200', write('HTTP/1.1 102 Processing\r\n\r\n', answer(200, '{}')), 'DONE'],
  ['status 403', reply(403, '{"message":"Forbidden"}'), 'FORBIDDEN'],
  ['status 404', reply(404, '{"message":"Account not found"}'), 'NOT_FOUND'],
  ...[400, 402, 405, 413, 415, 422].map(
    (status) =>
      [
        `status ${status}`,
        reply(status, '{"code":"AM04","message":"Insufficient funds"}'),
        'BANK_REJECTED',
      ] as const,
  ),
];

const putAnswers: typeof answers = [
  ['200 and nothing', reply(200, ''), 'DONE'],
  ['a reset', reset, 'OUTCOME_UNKNOWN'],
  [
    'its requests',
    reply(
      200,
      '{"transaction-requests":[{"status":"INITIATED","body":{"to":{"account_id":"to"},"value":{"amount":12.5,"currency":"EUR"}}}]}',
    ),
    'DONE',
  ],
  ['status 422', reply(422, '{"message":"Insufficient funds"}'), 'BANK_REJECTED'],
];

interface Case {
  readonly key: string;
  readonly name: string;
  readonly act: Act;
  readonly code: string;
  readonly input: Payment;
  readonly options: PayOptions;
  readonly isLate: boolean;
}

const cases: readonly Case[] = [
  ...[...[...late, ...faults].map(([name, act]) => [name, act, 'OUTCOME_UNKNOWN'] as const), ...answers].map(
    ([name, act, code], n): Case => {
      const key = `transfer-${n}`;
      return { key, name, act, code, input: transfer(key), options: {}, isLate: n < late.length };
    },
  ),
  ...putAnswers.map(([name, act, code], n): Case => {
    const key = `request-${n}`;
    const input = transfer(key, { viewId: 'owner', transactionRequestType: 'SEPA' });
    return {
      key,
      name: `${name}, to a request`,
      act,
      code,
      input,
      options: { mutation: 'putTransactionRequest' },
      isLate: false,
    };
  }),
];

// One kind of store is enough, because all keep the same data (see store-conformance.ts).
describe.each(sharedStates.slice(0, 1))('a payment that was sent, kept in $name', ({ start }) => {
  let bank: PaymentBank;
  let state: State;
  let patient: BankqlProcess;
  /** A bankql in this process, so that the test can let the deadline pass. */
  let hasty: TestBankql;
  const environment = () => ({
    BANK_BASE_URL: bank.url,
    // Every fault must reach the bank, so no breaker pauses payments.
    ...withLimits({ breakerShare: 0, bankAnswerBytes: 4096 }),
    STATE_URL: state.url,
  });
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    patient = made.use(
      await startProcess({ ...environment(), BANK_TRANSFER_TIMEOUT_MS: String(2 * testMs) }),
    );
    const store = await openStore(state.url, { retentionMs: 86_400_000 });
    made.defer(() => store.close());
    hasty = made.use(await createTestBankql({ bankUrl: bank.url, store }));
  });

  /** Pays, and lets the deadline pass once the bank has the payment and bankql has received everything that the bank sends. */
  async function payTooLate({ act, input }: Case): Promise<Told> {
    const acted = Promise.withResolvers<void>();
    bank.decide = () => (socket) => {
      act(socket);
      acted.resolve();
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const asked = pay(hasty, input);
      await acted.promise;
      // The bank is in this process too, so its bytes are read in the next iteration of the event loop.
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      // Both clocks are advanced, because a timer that fires too early is set again.
      letPass(bankDefaults.paymentTimeoutMs);
      vi.advanceTimersByTime(bankDefaults.paymentTimeoutMs);
      return await asked;
    } finally {
      vi.useRealTimers();
    }
  }

  const answered = new Map<Case, Told>();

  test.each(cases)(
    'and answered with $name, is $code, now and when it is asked for again',
    { timeout: testMs },
    async (each) => {
      const { key, act, code, input, options } = each;
      told = Promise.withResolvers();
      bank.decide = () => act;
      const first = await (each.isLate ? payTooLate(each) : pay(patient.url, input, options));
      told.resolve();
      expect(bank.of(key)).toHaveLength(1);
      const trackId = bank.of(key)[0]?.trackId;
      expect(first).toMatchObject({ code, replayed: false, trackId });
      if (code === 'OUTCOME_UNKNOWN') expect(first.idempotencyKey).toBe(key);
      bank.decide = accept;
      const again = await pay(patient.url, input, options);
      expect(again).toMatchObject({ code, replayed: code === 'DONE', trackId, status: first.status });
      expect(bank.of(key)).toHaveLength(1);
      answered.set(each, again);
    },
  );

  test('is unchanged after a restart, and nothing is sent', async () => {
    expect(answered.size).toBe(cases.length);
    await patient.stop('SIGKILL');
    await using second = await startProcess(environment());
    bank.decide = accept;
    const sent = bank.payments.length;
    for (const [{ input, options }, answer] of answered) {
      expect(await pay(second.url, input, options)).toEqual(answer);
    }
    expect(bank.payments).toHaveLength(sent);
    expect(bank.of('elsewhere')).toEqual([]);
  });
});
