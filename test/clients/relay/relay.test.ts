import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { alice } from '../../../src/app/announcements.ts';
import { type LiveBankql, startLiveBankql } from '../../support/live-bankql.ts';

/**
 * Relay's compiler and store, with a bankql process that accepts only the documents of its manifest. `npm run check:clients`
 * installs them and compiles documents.ts. This file is excluded from the type check, which runs without them.
 */
const isBuilt = process.env.CLIENTS === 'built';
const generated = (name: string) => join(import.meta.dirname, 'generated', name);

describe.skipIf(!isBuilt)('Relay (npm run check:clients)', () => {
  let bankql: LiveBankql;
  let relay: typeof import('relay-runtime');
  const sent: { documentId?: string; query?: string }[] = [];
  const artifact = async (name: string) => (await import(generated(`documents${name}.graphql.ts`))).default;

  beforeAll(async () => {
    const runtime = 'relay-runtime';
    relay = (await import(runtime)).default;
    bankql = await startLiveBankql({
      PERSISTED_DOCUMENTS: generated('persisted.json'),
      PERSISTED_ONLY: 'on',
      BANK_ALL_PRODUCTS_ID: 'SNDBCY2N',
    });
  });
  beforeEach(() => void sent.splice(0));
  afterAll(() => bankql[Symbol.asyncDispose]());

  function open() {
    const { Environment, Network, RecordSource, Store } = relay;
    return new Environment({
      store: new Store(new RecordSource()),
      network: Network.create(async ({ id }, variables) => {
        const body = { documentId: id, variables };
        sent.push(body);
        const response = await fetch(`${bankql.url}/graphql`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...alice },
          body: JSON.stringify(body),
        });
        return response.json();
      }),
    });
  }
  type Environment = ReturnType<typeof open>;

  const ask = (environment: Environment, query: unknown, variables = {}) =>
    relay.fetchQuery(environment, query, variables).toPromise();
  /** The data that a component would get now. */
  const shown = (environment: Environment, query: unknown, variables = {}) => {
    const operation = relay.createOperationDescriptor(relay.getRequest(query), variables);
    return environment.lookup(operation.fragment).data;
  };

  test('a transfer changes the balance in the store, by the ids of the compiled documents alone', async () => {
    const environment = open();
    const [query, mutation] = await Promise.all([artifact('BalanceQuery'), artifact('TransferMutation')]);
    await ask(environment, query);
    const { account } = shown(environment, query).viewer;
    expect(account).toMatchObject({ label: 'Everyday', balance: { amount: '4305.80', currency: 'EUR' } });

    const input = {
      accountId: 'alice-current',
      to: { accountId: 'alice-savings' },
      value: { amount: '5.80', currency: 'EUR' },
      idempotencyKey: 'relay',
    };
    await new Promise<unknown>((resolve, reject) => {
      relay.commitMutation(environment, {
        mutation,
        variables: { input },
        onCompleted: (_data, errors) => (errors ? reject(errors) : resolve(null)),
        onError: reject,
      });
    });
    expect(shown(environment, query).viewer.account.balance.amount).toBe('4300.00');
    expect(bankql.payments()).toHaveLength(1);
    expect(
      sent.map(({ documentId, query: text }) => [/^[0-9a-f]{64}$/.test(documentId ?? ''), text]),
    ).toEqual([
      [true, undefined],
      [true, undefined],
    ]);

    // The record can be read again with its global id alone.
    const node = await artifact('NodeQuery');
    await ask(environment, node, { id: account.id });
    expect(shown(environment, node, { id: account.id })).toEqual({ node: { label: 'Everyday' } });
  });

  test('@connection puts pages together', async () => {
    const environment = open();
    const query = await artifact('BranchesQuery');
    const source = () => environment.getStore().getSource();
    const ids = () => shown(environment, query).bank.branches.edges.map(({ node }) => node.branchId);
    const lengths: number[] = [];
    let after: string | undefined;
    do {
      await ask(environment, query, { after });
      lengths.push(ids().length);
      const names = source().getRecordIDs();
      const page = names.findLast((name) => /__documents_branches_connection:pageInfo$/.test(name)) ?? '';
      const { hasNextPage, endCursor } = source().get(page) as { hasNextPage: boolean; endCursor: string };
      after = hasNextPage ? endCursor : undefined;
    } while (after !== undefined);
    expect(lengths).toEqual([10, 20, 26]);
    expect(new Set(ids()).size).toBe(26);
  });
});
