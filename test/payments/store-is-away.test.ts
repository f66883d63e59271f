import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/payments/store/open-store.ts';
import { createTestBankql, credentials, testLeaseMs } from '../support/bankql.ts';
import type { Act } from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { withLimits } from '../support/limits.ts';
import { logLines } from '../support/log-lines.ts';
import { type Arrived, accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, post, startProcess, storeTimeoutVariable } from '../support/process.ts';
import { untilFound } from '../support/waits.ts';

const outages = sharedStates.flatMap(({ name, ways, start }) => ways.map((way) => ({ name, way, start })));

describe.each(outages)('while $name is $way', ({ way, start }) => {
  let bank: PaymentBank;
  let state: State;
  let bankql: BankqlProcess;
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    bankql = made.use(await startProcess(environment()));
  });
  const environment = () => ({
    BANK_BASE_URL: bank.url,
    STATE_URL: state.url,
    // bankql's default. On a busy machine, an available store may take longer. In that case, the request is repeated.
    [storeTimeoutVariable]: '500',
  });

  /** Repeats requests until the store is available again, and then pays once. */
  async function payWhenBack(url: string, key: string): Promise<Told> {
    return untilFound(async () => {
      const told = await pay(url, transfer(key));
      return told.code === 'STATE_UNAVAILABLE' ? undefined : told;
    });
  }

  /**
   * Repeats requests until the payment has ended. If its INSERT timed out, bankql deletes the record later, and answers
   * IDEMPOTENCY_IN_PROGRESS until it has done so.
   */
  async function payToTheEnd(url: string, key: string): Promise<Told> {
    return untilFound(async () => {
      const told = await payWhenBack(url, key);
      return told.code === 'IDEMPOTENCY_IN_PROGRESS' ? undefined : told;
    });
  }

  /** The bank answers after the store has become unavailable. The returned function makes the store available again. */
  function takeAwayBeforeTheAnswer(act: (payment: Arrived) => Act) {
    const gone = Promise.withResolvers<() => Promise<void>>();
    bank.decide = (payment) => (socket) => {
      void state.takeAway(way).then((giveBack) => {
        gone.resolve(giveBack);
        act(payment)(socket);
      }, gone.reject);
    };
    return async () => (await gone.promise)();
  }

  test('a payment is refused in time, nothing is sent, and reads go on', async () => {
    bank.decide = accept;
    expect((await payToTheEnd(bankql.url, 'earlier')).code).toBe('DONE');
    const giveBack = await state.takeAway(way);
    const began = performance.now();
    const told = await Promise.all([
      pay(bankql.url, transfer('refused')),
      pay(bankql.url, transfer('earlier')),
      pay(bankql.url, transfer('refused too')),
    ]);
    expect(performance.now() - began).toBeLessThan(inTimeMs);
    expect(told.map(({ code }) => code)).toEqual(Array(3).fill('STATE_UNAVAILABLE'));
    const read = await post(
      bankql.url,
      '{ bank(bankId: "BANK") { branches { nodes { id } } } }',
      credentials,
    );
    expect(read).toEqual({ data: { bank: { branches: { nodes: [] } } } });
    expect(bank.of('refused')).toEqual([]);
    await giveBack();
    expect(bank.of('refused')).toEqual([]);
    expect(await payToTheEnd(bankql.url, 'refused')).toMatchObject({ code: 'DONE', replayed: false });
    expect(await payToTheEnd(bankql.url, 'earlier')).toMatchObject({ code: 'DONE', replayed: true });
    expect(bank.of('refused')).toHaveLength(1);
    expect(bank.of('earlier')).toHaveLength(1);
  });

  test('the client gets the bank’s answer, which is recorded when the store is back; nothing is sent again', async () => {
    const giveBack = takeAwayBeforeTheAnswer(accept);
    const told = await payToTheEnd(bankql.url, 'between');
    const trackId = bank.of('between')[0]?.trackId;
    expect(told).toMatchObject({ code: 'DONE', replayed: false, trackId });
    bank.decide = accept;
    // The process that sent the payment knows the outcome, whatever happened to the store.
    expect(await pay(bankql.url, transfer('between'))).toEqual({ ...told, replayed: true });
    await giveBack();
    expect((await payToTheEnd(bankql.url, 'after-between')).code).toBe('DONE');
    expect(await payToTheEnd(bankql.url, 'between')).toEqual({ ...told, replayed: true });
    expect(bank.of('between')).toHaveLength(1);
  });

  describe('a process that has to end before it could record an answer', () => {
    const lostLines = (process: BankqlProcess) =>
      logLines(process.output(), 'the payment store lacks an outcome');

    test('waits for the store, and ends with 0 when it has the outcome', async () => {
      // On a busy machine, making the store available again may take longer than the default time.
      const waiting = withLimits({ storeAwayMs: 120_000 });
      await using other = await startProcess({ ...environment(), ...waiting });
      const giveBack = takeAwayBeforeTheAnswer(accept);
      const told = await payToTheEnd(other.url, 'awaited');
      const ended = other.stop('SIGTERM');
      await untilFound(async () => logLines(other.output(), 'bankql stops')[0]);
      await giveBack();
      expect(await ended).toBe(0);
      expect(lostLines(other)).toEqual([]);
      bank.decide = accept;
      expect(await payWhenBack(bankql.url, 'awaited')).toEqual({ ...told, code: 'DONE', replayed: true });
      expect(bank.of('awaited')).toHaveLength(1);
    });

    test('names the outcome in an error line if the store stays away, and ends with 1', async () => {
      await using other = await startProcess(environment());
      const giveBack = takeAwayBeforeTheAnswer(accept);
      const told = await payToTheEnd(other.url, 'logged');
      expect(told).toMatchObject({ code: 'DONE', replayed: false });
      const began = performance.now();
      expect(await other.stop('SIGTERM')).toBe(1);
      expect(performance.now() - began).toBeLessThan(inTimeMs);
      await giveBack();
      bank.decide = accept;
      const { trackId } = told;
      const audit = logLines(other.output(), '"audit":"payment"').filter((line) => line.trackId === trackId);
      expect(audit).toMatchObject([{ state: 'PENDING' }, { state: 'DONE', status: 201 }]);
      expect(lostLines(other)).toMatchObject([
        { level: 50, payment: audit[0].id, trackId, state: 'DONE', status: 201 },
      ]);
      for (const secret of Object.values(credentials)) expect(other.output()).not.toContain(secret);
      // The store does not have the outcome, unless the write was on its way. The payment is never sent again.
      expect((await payWhenBack(bankql.url, 'logged')).code).toMatch(/^(DONE|IDEMPOTENCY_IN_PROGRESS)$/);
      expect(bank.of('logged')).toHaveLength(1);
    });
  });

  test('a process that ends before it could record an answer leaves an unknown outcome, never a second request', async () => {
    const giveBack = takeAwayBeforeTheAnswer(accept);
    const { code, trackId } = await payToTheEnd(bankql.url, 'lost');
    expect(code).toBe('DONE');
    await bankql.stop('SIGKILL');
    await giveBack();
    bank.decide = accept;
    const store = await openStore(state.url, { timeoutMs: 60_000, retentionMs: 86_400_000 });
    await using next = await createTestBankql({ bankUrl: bank.url, store });
    const left = await pay(next, transfer('lost'));
    // A delayed store may still have received the outcome.
    expect(left).toMatchObject(
      left.code === 'DONE' ? { replayed: true, trackId } : { code: 'IDEMPOTENCY_IN_PROGRESS', trackId },
    );
    await state.pass(2 * testLeaseMs);
    const later = left.code === 'DONE' ? 'DONE' : 'OUTCOME_UNKNOWN';
    expect(await pay(next, transfer('lost'))).toMatchObject({ code: later, trackId });
    await store.close();
    expect(bank.of('lost')).toHaveLength(1);
  });
});
