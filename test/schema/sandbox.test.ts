import { describe, expect, test } from 'vitest';
import type { CallReport } from '../../src/bank/report.ts';
import { alice as aliceHeaders } from '../../src/commands/announcements.ts';
import { readConfig } from '../../src/config/config.ts';
import { closedAccount, slowAccount } from '../../src/sandbox/payee.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { readExamples } from '../../src/server/graphiql/page.ts';
import { graphql } from '../generated/index.ts';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';

const exampleOperations = await readExamples();

const SandboxTransfer = graphql(`
  mutation SandboxTransfer($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      replayed
      payment {
        transactionId
        status
        account { balance { amount currency } }
        to { accountId account { label } public: account(viewId: "public") { label balance { amount currency } } }
      }
    }
  }
`);

const SandboxBalance = graphql(`
  query SandboxBalance($accountId: ID!) {
    bank { account(accountId: $accountId) { balance { amount currency } } }
  }
`);

const SandboxTransaction = graphql(`
  query SandboxTransaction($accountId: ID!, $transactionId: ID!) {
    bank {
      account(accountId: $accountId) {
        transaction(transactionId: $transactionId) {
          details { value { amount currency } newBalance { amount } description status }
          thisAccount { accountId balance { amount } }
          otherAccount { otherAccountId holder { name } }
        }
      }
    }
  }
`);

const as = (caller: string) => ({
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': caller,
});
const [alice, bob] = [as('alice'), as('bob')];

interface Sandboxed extends AsyncDisposable {
  readonly ask: TestBankql['ask'];
  readonly calls: CallReport[];
}

/** bankql in front of a new sandbox bank. */
async function startSandboxed(): Promise<Sandboxed> {
  const sandbox = await startSandbox({ port: 0 });
  const calls: CallReport[] = [];
  const { defaults } = readConfig({}).server;
  const bankql = await createTestBankql({
    bankUrl: sandbox.url,
    defaults,
    bankOptions: { onCall: (call) => void calls.push(call) },
  });
  return {
    ask: bankql.ask,
    calls,
    async [Symbol.asyncDispose]() {
      await bankql[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const examples = exampleOperations.map(
  (document) => [/(query|mutation) (\w+)/.exec(document)?.[2] ?? '', document] as const,
);

describe('the example operations', () => {
  test.each(examples)('%s runs as it is, as alice, without an error', async (_, document) => {
    await using bankql = await startSandboxed();
    const result = await bankql.ask(document, undefined, alice);
    expect(result.errors).toBeUndefined();
    expect(result.data).not.toBeNull();
  });

  test('run one after another, the payment of which is then found', async () => {
    await using bankql = await startSandboxed();
    const answers = new Map<string, unknown>();
    for (const [name, document] of examples)
      answers.set(name, (await bankql.ask(document, undefined, alice)).data);
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
  });

  test.each(examples)(
    '%s costs as many REST calls as its comment says, where it says so',
    async (_, document) => {
      const said = /(\w+) REST calls?/.exec(document)?.[1];
      await using bankql = await startSandboxed();
      await bankql.ask(document, undefined, alice);
      const count = bankql.calls.length;
      expect(said ?? words[count]).toBe(words[count]);
    },
  );

  test('that comes first says what it costs', () => {
    expect(exampleOperations[0]).toMatch(/\w+ REST calls/);
  });
});

describe('bankql in front of the sandbox bank', () => {
  const balanceOf = async (bankql: Sandboxed, accountId: string, headers: Readonly<Record<string, string>>) =>
    (await bankql.ask(SandboxBalance, { accountId }, headers)).data?.bank?.account?.balance?.amount;

  test('moves money, once, and both sides see it', async () => {
    await using bankql = await startSandboxed();
    expect(await balanceOf(bankql, 'alice-current', alice)).toBe('4305.80');
    expect(await balanceOf(bankql, 'bob-current', bob)).toBe('3170.40');
    const input = {
      accountId: 'alice-current',
      to: { bankId: 'SNDBCY2N', accountId: 'bob-current' },
      value: { amount: '100.05', currency: 'EUR' },
      description: 'Ενοίκιο',
      idempotencyKey: 'rent',
    };
    const paid = await bankql.ask(SandboxTransfer, { input }, alice);
    expect(paid.data?.makeTransaction).toMatchObject({
      replayed: false,
      payment: {
        status: 'COMPLETED',
        account: { balance: { amount: '4205.75', currency: 'EUR' } },
        // Alice may not see bob's account as its owner does, but as the public.
        to: {
          accountId: 'bob-current',
          account: null,
          public: { balance: { amount: null, currency: 'EUR' } },
        },
      },
    });
    expect(failuresOf(paid)).toEqual(['makeTransaction.payment.to.account FORBIDDEN']);
    const again = await bankql.ask(SandboxTransfer, { input }, alice);
    expect(again.data?.makeTransaction?.replayed).toBe(true);
    expect(again.data?.makeTransaction?.payment?.transactionId).toBe(
      paid.data?.makeTransaction?.payment?.transactionId,
    );
    expect(await balanceOf(bankql, 'alice-current', alice)).toBe('4205.75');
    expect(await balanceOf(bankql, 'bob-current', bob)).toBe('3270.45');

    const transactionId = paid.data?.makeTransaction?.payment?.transactionId ?? '';
    const seen = await bankql.ask(SandboxTransaction, { accountId: 'alice-current', transactionId }, alice);
    expect(seen.errors).toBeUndefined();
    expect(seen.data?.bank?.account?.transaction).toMatchObject({
      details: { newBalance: { amount: '4205.75' }, description: 'Ενοίκιο', status: 'COMPLETED' },
      thisAccount: { accountId: 'alice-current', balance: { amount: '4205.75' } },
      otherAccount: { otherAccountId: 'bob-current' },
    });
    const theirs = await bankql.ask(SandboxTransaction, { accountId: 'bob-current', transactionId }, bob);
    expect(theirs.errors).toBeUndefined();
    expect(theirs.data?.bank?.account?.transaction).toMatchObject({
      details: { newBalance: { amount: '3270.45' } },
      otherAccount: { otherAccountId: 'alice-current' },
    });
  });

  test('pays a counterparty at another bank, and what another bank refuses is refused', async () => {
    await using bankql = await startSandboxed();
    const input = {
      accountId: 'alice-current',
      to: { accountId: 'payee-landlord' },
      value: { amount: '650.00', currency: 'EUR' },
      idempotencyKey: 'rent to another bank',
    };
    const paid = await bankql.ask(SandboxTransfer, { input }, alice);
    expect(paid.data?.makeTransaction).toMatchObject({
      payment: {
        status: 'COMPLETED',
        account: { balance: { amount: '3655.80' } },
        to: { accountId: 'payee-landlord' },
      },
    });
    const transactionId = paid.data?.makeTransaction?.payment?.transactionId ?? '';
    const seen = await bankql.ask(SandboxTransaction, { accountId: 'alice-current', transactionId }, alice);
    expect(seen.errors).toBeUndefined();
    expect(seen.data?.bank?.account?.transaction?.otherAccount).toEqual({
      otherAccountId: 'payee-landlord',
      holder: { name: 'Ανδρέας Ιωάννου' },
    });
    const pay = (accountId: string) =>
      bankql.ask(
        SandboxTransfer,
        { input: { ...input, to: { accountId }, idempotencyKey: accountId } },
        alice,
      );
    expect((await pay(closedAccount)).errors).toMatchObject([{ extensions: { code: 'BANK_REJECTED' } }]);
    const slow = await pay(slowAccount);
    expect(slow.errors).toMatchObject([{ extensions: { code: 'OUTCOME_UNKNOWN', status: 200 } }]);
    expect(slow.errors?.[0]?.message).toMatch(
      /^The bank accepted the payment, and has not said that it was executed\./,
    );
    expect((await pay(slowAccount)).errors).toEqual(slow.errors);
    expect(await balanceOf(bankql, 'alice-current', alice)).toBe('3655.80');
  });

  test('keeps the digits of an amount that a double does not', async () => {
    await using bankql = await startSandboxed();
    expect(await balanceOf(bankql, 'alice-trust', alice)).toBe('9007199254740993.25');
    const input = {
      accountId: 'alice-trust',
      to: { accountId: 'alice-current' },
      value: { amount: '0.01', currency: 'EUR' },
      idempotencyKey: 'a cent',
    };
    const paid = await bankql.ask(SandboxTransfer, { input }, alice);
    expect(paid.data?.makeTransaction?.payment?.account?.balance?.amount).toBe('9007199254740993.24');
    expect(await balanceOf(bankql, 'alice-current', alice)).toBe('4305.81');
  });
});

test('the mutations of the staff are FORBIDDEN for customers at the sandbox', async () => {
  await using fixture = await startRecordedSandbox();
  const ask = async (document: string, caller: string) => {
    const { errors } = await fixture.bankql.ask(
      `mutation { ${document} }`,
      {},
      { ...aliceHeaders, 'Auth-ID': caller },
    );
    return errors?.map(({ extensions }) => extensions.code);
  };
  for (const document of [
    'putAccount(input: { accountId: "alice-current", account: { balance: { amount: "1.00", currency: "EUR" } } }) { trackId }',
    'putBranch(input: { branchId: "nicosia-main", branch: { acceptsDeposits: true } }) { trackId }',
    'updateBranch(input: { branchId: "nicosia-main", changes: { name: "Mine" } }) { trackId }',
    'putProduct(input: { product: { productId: "current-plus", name: "Mine" } }) { trackId }',
    'updateProduct(input: { productId: "current-plus", changes: { name: "Mine" } }) { trackId }',
    'putCustomerMessage(input: { customerId: "alice", message: "m", fromDepartment: "d", fromPerson: "p" }) { trackId }',
  ]) {
    expect([document, await ask(document, 'alice')]).toEqual([document, ['FORBIDDEN']]);
    expect([document, await ask(document, 'staff')]).toEqual([document, undefined]);
  }
});
