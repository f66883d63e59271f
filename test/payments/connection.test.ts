import { afterEach, describe, expect, test } from 'vitest';
import { createTestBankql } from '../support/bankql.ts';
import { later } from '../support/faulty-bank.ts';
import { accept, hold, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay as askFor, transfer } from '../support/payment-client.ts';
import { until } from '../support/waits.ts';

/** What the connection to the bank has to do with it. */

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function setUp(limits = {}) {
  const bank = await startPaymentBank();
  const bankql = await createTestBankql({ bankUrl: bank.url, bankOptions: limits });
  open.push(
    async () => bankql[Symbol.asyncDispose](),
    () => bank.close(),
  );
  return { bank, bankql };
}

type Bankql = Awaited<ReturnType<typeof setUp>>['bankql'];

async function pay(bankql: Bankql, key: string): Promise<string> {
  const { code, replayed } = await askFor(bankql, transfer(key));
  return replayed ? 'REPLAYED' : code;
}

const read = (bankql: Bankql) => bankql.ask('{ bank { branches { nodes { id } } } }');

/** Lines of the audit log on this key's account. */
const auditOf = (bankql: Bankql, key: string) =>
  bankql.audit.filter(({ accountId }) => accountId === key).map(({ state }) => state);

describe('a payment has a connection of its own', () => {
  test('none is kept for the next one, and none has carried a read', async () => {
    const { bank, bankql } = await setUp();
    for (let n = 0; n < 10; n++) {
      expect((await read(bankql)).errors).toBeUndefined();
      expect(await pay(bankql, `own-${n}`)).toBe('DONE');
    }
    expect(bank.payments.map(({ nth }) => nth)).toEqual(Array(10).fill(1));
    expect(new Set(bank.payments.map(({ connection }) => connection)).size).toBe(10);
    // Ten for ten payments, and one that all the reads were sent over.
    expect(bank.connections()).toBe(11);
  });

  test('also when many are under way', async () => {
    const { bank, bankql } = await setUp({ connections: 8 });
    bank.decide = (payment) => later(5, accept(payment));
    const told = await Promise.all(Array.from({ length: 60 }, (_, n) => pay(bankql, `many-${n}`)));
    expect(new Set(told)).toEqual(new Set(['DONE']));
    expect(bank.payments.map(({ nth }) => nth)).toEqual(Array(60).fill(1));
    expect(bank.connections()).toBe(60);
  });
});

describe('a payment that was not sent may be asked for again with its key', () => {
  async function refusedAndThenSent(bank: PaymentBank, bankql: Bankql, key: string, code: string) {
    expect(await pay(bankql, key)).toBe(code);
    expect(bank.of(key)).toEqual([]);
    expect(auditOf(bankql, key)).toEqual(['PENDING', 'NOT_SENT']);
    return async () => {
      expect(await pay(bankql, key)).toBe('DONE');
      expect(await pay(bankql, key)).toBe('REPLAYED');
      expect(bank.of(key)).toHaveLength(1);
    };
  }

  test('where the bank takes no connections', async () => {
    const { bank, bankql } = await setUp();
    await bank.close();
    const again = await refusedAndThenSent(bank, bankql, 'refused', 'BANK_UNAVAILABLE');
    await bank.listen();
    await again();
  });

  test('where it waited for the connection of one whose outcome is unknown', async () => {
    const { bank, bankql } = await setUp({ connections: 1 });
    const ended = Promise.withResolvers<void>();
    bank.decide = () => (socket) => void ended.promise.then(() => socket.resetAndDestroy());
    const first = pay(bankql, 'first');
    await until(() => bank.payments.length > 0);
    const waiting = pay(bankql, 'waiting');
    await until(() => auditOf(bankql, 'waiting').length > 0);
    bank.decide = accept;
    ended.resolve();
    expect(await first).toBe('OUTCOME_UNKNOWN');
    // It got the connection that the first one left.
    expect(await waiting).toBe('DONE');
    expect(bank.of('waiting')).toHaveLength(1);
  });

  test('where all connections are taken, and nothing of it is sent later', async () => {
    const { bank, bankql } = await setUp({ connections: 6, waitMs: 250 });
    const { answer } = hold(bank);
    const taken = [pay(bankql, 'taken-1'), pay(bankql, 'taken-2')];
    await until(() => bank.payments.length === 2);
    const waiting = await Promise.all(Array.from({ length: 10 }, (_, n) => pay(bankql, `waiting-${n}`)));
    answer();
    expect(await Promise.all(taken)).toEqual(['DONE', 'DONE']);
    bank.decide = accept;
    expect(waiting).toEqual(Array(10).fill('OVERLOADED'));
    for (const n of waiting.keys()) {
      expect(bank.of(`waiting-${n}`)).toEqual([]);
      expect(auditOf(bankql, `waiting-${n}`)).toEqual(['PENDING', 'NOT_SENT']);
      expect(await pay(bankql, `waiting-${n}`)).toBe('DONE');
      expect(bank.of(`waiting-${n}`)).toHaveLength(1);
    }
    expect(bank.payments).toHaveLength(12);
  });
});
