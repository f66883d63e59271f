import { describe, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { readExamples } from '../../src/http/graphiql/page.ts';
import { closedAccount, slowAccount } from '../../src/sandbox/iban.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** bankql with the sandbox bank: GraphiQL's examples, and transfers between accounts. */

const exampleOperations = await readExamples();
const nameOf = (document: string) => /(?:query|mutation) (\w+)/.exec(document)?.[1] ?? '';
const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const bob = { ...alice, 'Auth-ID': 'bob' };

describe('the example operations', () => {
  test.each(exampleOperations.map((document) => [nameOf(document), document]))(
    '%s runs unchanged as alice, with the number of REST calls in its comment',
    async (_, document) => {
      await using fixture = await startRecordedSandbox();
      const result = await fixture.bankql.ask(document, undefined, alice);
      expect(result.errors).toBeUndefined();
      expect(result.data).not.toBeNull();
      const count = words[fixture.recorder.calls.length];
      expect(/(\w+) REST calls?/.exec(document)?.[1] ?? count).toBe(count);
    },
  );

  test('run one after another, and the payment is found afterwards', async () => {
    await using fixture = await startRecordedSandbox();
    const answers = new Map<string, unknown>();
    for (const document of exampleOperations)
      answers.set(nameOf(document), (await fixture.bankql.ask(document, undefined, alice)).data);
    expect(answers.get('Pay')).toMatchObject({
      makeTransaction: {
        replayed: false,
        payment: { state: 'DONE', account: { balance: { amount: '4293.30', currency: 'EUR' } } },
        userErrors: [],
      },
    });
    expect(answers.get('Payment')).toMatchObject({
      payment: { state: 'DONE', value: { amount: '12.50', currency: 'EUR' } },
    });
    expect(exampleOperations[0]).toMatch(/\w+ REST calls/);
  });
});

describe('a transfer', () => {
  async function start() {
    const fixture = await startRecordedSandbox();
    const pay = (from: string, to: string, amount: string) =>
      fixture.bankql.ask(
        `mutation { makeTransaction(input: {
          accountId: "${from}", to: { accountId: "${to}" }, value: { amount: "${amount}", currency: "EUR" }, description: "Ενοίκιο"
          idempotencyKey: "${from} ${to}"
        }) { replayed payment {
          transactionId account { balance { amount } }
          to { account { label } public: account(viewId: "public") { balance { amount currency } } }
        } } }`,
        {},
        alice,
      );
    const seen = async (accountId: string, transactionId: string, headers = alice) => {
      const { data, errors } = await fixture.bankql.ask(
        `{ bank { account(accountId: "${accountId}") { balance { amount } transaction(transactionId: "${transactionId}") {
          details { newBalance { amount } description status } otherAccount { otherAccountId holder { name } }
        } } } }`,
        {},
        headers,
      );
      expect(errors).toBeUndefined();
      return Object(data).bank.account;
    };
    return { ...fixture, pay, seen };
  }

  test('moves money once, and both sides see it', async () => {
    await using fixture = await start();
    const paid = await fixture.pay('alice-current', 'bob-current', '100.05');
    const { payment } = Object(paid.data).makeTransaction;
    // Alice may not see bob's account as its owner does, but she may see its public view.
    expect(payment).toMatchObject({
      account: { balance: { amount: '4205.75' } },
      to: { account: null, public: { balance: { amount: null, currency: 'EUR' } } },
    });
    expect(failuresOf(paid)).toEqual(['makeTransaction.payment.to.account FORBIDDEN']);
    const again = await fixture.pay('alice-current', 'bob-current', '100.05');
    expect(again.data).toMatchObject({
      makeTransaction: { replayed: true, payment: { transactionId: payment.transactionId } },
    });

    const amounts = (amount: string, otherAccountId: string) => ({
      balance: { amount },
      transaction: {
        details: { newBalance: { amount }, description: 'Ενοίκιο', status: 'COMPLETED' },
        otherAccount: { otherAccountId },
      },
    });
    expect(await fixture.seen('alice-current', payment.transactionId)).toMatchObject(
      amounts('4205.75', 'bob-current'),
    );
    expect(await fixture.seen('bob-current', payment.transactionId, bob)).toMatchObject(
      amounts('3270.45', 'alice-current'),
    );
  });

  test('reaches a counterparty at another bank, which can refuse it', async () => {
    await using fixture = await start();
    const paid = await fixture.pay('alice-current', 'payee-landlord', '650.00');
    const { transactionId } = Object(paid.data).makeTransaction.payment;
    const { balance, transaction } = await fixture.seen('alice-current', transactionId);
    expect(balance).toEqual({ amount: '3655.80' });
    const holder = { name: 'Ανδρέας Ιωάννου' };
    expect(transaction.otherAccount).toEqual({ otherAccountId: 'payee-landlord', holder });
    const closed = await fixture.pay('alice-current', closedAccount, '650.00');
    expect(failuresOf(closed)).toEqual(['makeTransaction BANK_REJECTED']);
    const slow = await fixture.pay('alice-current', slowAccount, '650.00');
    expect(failuresOf(slow)).toEqual(['makeTransaction OUTCOME_UNKNOWN']);
    expect((await fixture.seen('alice-current', transactionId)).balance).toEqual({ amount: '3655.80' });
  });

  test('keeps digits of an amount that a double would lose', async () => {
    await using fixture = await start();
    const { data } = await fixture.pay('alice-trust', 'alice-current', '0.01');
    expect(data).toMatchObject({
      makeTransaction: { payment: { account: { balance: { amount: '9007199254740993.24' } } } },
    });
  });
});

test('the mutations of the staff are FORBIDDEN for customers at the sandbox', async () => {
  await using fixture = await startRecordedSandbox();
  for (const mutation of [
    'putAccount(input: { accountId: "alice-current", account: { balance: { amount: "1.00", currency: "EUR" } } })',
    'putBranch(input: { branchId: "nicosia-main", branch: { acceptsDeposits: true } })',
    'updateBranch(input: { branchId: "nicosia-main", changes: { name: "Mine" } })',
    'putProduct(input: { product: { productId: "current-plus", name: "Mine" } })',
    'updateProduct(input: { productId: "current-plus", changes: { name: "Mine" } })',
    'putCustomerMessage(input: { customerId: "alice", message: "m", fromDepartment: "d", fromPerson: "p" })',
  ]) {
    const ask = async (caller: string) => {
      const headers = { ...alice, 'Auth-ID': caller };
      const { errors } = await fixture.bankql.ask(`mutation { ${mutation} { trackId } }`, {}, headers);
      return errors?.map(({ extensions }) => extensions.code);
    };
    expect([mutation, await ask('alice')]).toEqual([mutation, ['FORBIDDEN']]);
    expect([mutation, await ask('staff')]).toEqual([mutation, undefined]);
  }
});
