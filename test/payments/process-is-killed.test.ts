import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { killPoints, type PaymentProcess, startPaymentProcess } from '../support/payment-process.ts';
import { type State, sharedStates } from '../support/payment-states.ts';

const [beforePending, whenPending, whenAnswered, whenDone] = killPoints;
const whenSent = 'when the bank has it';

/**
 * The points at which bankql is killed, each with the number of requests that have reached the bank by then, and with
 * bankql's later answers.
 */
const points = [
  { point: beforePending, sent: 0, told: 'DONE', afterLease: 'DONE' },
  { point: whenPending, sent: 0, told: 'IDEMPOTENCY_IN_PROGRESS', afterLease: 'OUTCOME_UNKNOWN' },
  { point: whenSent, sent: 1, told: 'IDEMPOTENCY_IN_PROGRESS', afterLease: 'OUTCOME_UNKNOWN' },
  { point: whenAnswered, sent: 1, told: 'IDEMPOTENCY_IN_PROGRESS', afterLease: 'OUTCOME_UNKNOWN' },
  { point: whenDone, sent: 1, told: 'DONE', afterLease: 'DONE' },
] as const;
/** The lease is longer than any machine needs to repeat a payment. The test lets it pass. */
const leaseMs = 600_000;
const keyOf = (point: string) => point.replaceAll(' ', '-');

describe.each(sharedStates)('a payment in $name whose process is killed', ({ start }) => {
  let bank: PaymentBank;
  let state: State;
  /** A process that opens the same store afterwards. */
  let next: PaymentProcess;
  /** The Track-IDs that had arrived when the last process had ended. */
  const arrived = new Map<string, string[]>();

  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    const settings = { bankUrl: bank.url, stateUrl: state.url, leaseMs };
    let killWhenSent = async () => {};
    bank.decide = (payment) =>
      payment.account === keyOf(whenSent)
        ? (socket) => void killWhenSent().then(() => accept(payment)(socket))
        : accept(payment);
    await Promise.all(
      points.map(async ({ point }) => {
        await using victim = await startPaymentProcess(
          point === whenSent ? settings : { ...settings, killAt: point },
        );
        if (point === whenSent) killWhenSent = victim.kill;
        const answer = await pay(victim.url, transfer(keyOf(point))).catch(() => 'no answer');
        expect(answer).toBe('no answer');
        expect(await victim.ended).toBe('SIGKILL');
      }),
    );
    for (const { point } of points) {
      const trackIds = bank.of(keyOf(point)).map(({ trackId }) => trackId);
      arrived.set(point, trackIds);
    }
    bank.decide = accept;
    next = made.use(await startPaymentProcess(settings));
  });

  test.each(points)(
    '$point: $sent request at the bank; a repeat is answered $told, and $afterLease after the lease',
    async ({ point, sent, told, afterLease }) => {
      const key = keyOf(point);
      expect(arrived.get(point)).toHaveLength(sent);
      const toldNext = await pay(next.url, transfer(key));
      expect(toldNext.code).toBe(told);
      await state.pass(leaseMs);
      const toldLater = await pay(next.url, transfer(key));
      expect(toldLater).toMatchObject({ code: afterLease, trackId: toldNext.trackId });
      // The state does not change any more.
      await state.pass(-leaseMs);
      expect(await pay(next.url, transfer(key))).toEqual(toldLater);
      // Only a payment that was never stored may be sent now.
      expect(bank.of(key)).toHaveLength(told === 'DONE' ? 1 : sent);
      if (sent === 1) expect(bank.of(key)[0]?.trackId).toBe(toldNext.trackId);
    },
  );
});
