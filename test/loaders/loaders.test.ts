import DataLoader from 'dataloader';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { BankqlError } from '../../src/errors.ts';
import { createLoaders, type LoaderSession, type Loaders } from '../../src/loaders/loaders.ts';
import { createTestClient } from '../support/bank-client.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { branchOf } from '../support/records.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';

const bankId = 'B';
const inBank = '/v1/api/banks/B';
const inView = `${inBank}/accounts/a/owner`;

/** The bank's read operations, each with a sample call. */
const reads = Object.values(sampleCalls).filter(({ operation }) => operation.kind === 'read');

/** The bank's answers to the other calls of this file. */
const replies = {
  [`GET ${inBank}/customers/c`]: '{"legal_name":"C"}',
  [`GET ${inBank}/branches`]: '{"branches":[{"acceptsDeposits":true}]}',
  [`GET ${inView}/other_accounts`]: '{"otherAccounts":[{"bank":"X"}]}',
};

describe('loaders', () => {
  let bank: RecordingBank;
  let client: ReturnType<typeof createTestClient>;
  let loaders: Loaders;

  /** The session of one caller with the bank. */
  const session: LoaderSession = {
    get bank() {
      return client;
    },
    credentials: canaries,
    observer: null,
    admit: () => null,
  };

  /** The loader of an operation, by the rule for their names: the operation's id without `get`. */
  const loaderOf = ({ id }: Operation) =>
    loaders[id.replace(/^get./, (get) => get.slice(3).toLowerCase()) as 'customer'];

  beforeAll(async () => {
    bank = await startRecordingBank();
    client = createTestClient(bank.url, { connections: 32 });
    for (const { line, reply } of reads) bank.on(line, { body: reply });
    for (const [line, reply] of Object.entries(replies)) bank.on(line, { body: reply });
  });
  beforeEach(() => {
    bank.calls.length = 0;
    loaders = createLoaders(session);
  });
  afterAll(async () => {
    await client.close();
    await bank.close();
  });

  test.each(reads)(
    '$operation.id makes one call for all who ask for the same',
    async ({ operation, ids, line, sent, answer }) => {
      const wanted = sent === '' ? ids : { ...ids, query: JSON.parse(sent) };
      const load = () => loaderOf(operation).load(wanted as never);
      const together = await Promise.all([load(), load(), load()]);
      const later = await load();
      expect([...together, later]).toEqual(Array(4).fill(answer));
      expect(bank.calls.map(({ method, path, body }) => ({ line: `${method} ${path}`, body }))).toEqual([
        { line, body: sent },
      ]);
      expect(bank.calls[0]?.headers['ocp-apim-subscription-key']).toBe(canaries.subscriptionKey);
    },
  );

  test('tell keys apart by every id, and ids that joined would be the same', async () => {
    const keys = [
      { bankId: 'B', accountId: 'a', viewId: 'owner' },
      { bankId: 'B', accountId: 'A', viewId: 'owner' },
      { bankId: 'B', accountId: 'a', viewId: 'public' },
      { bankId: 'C', accountId: 'a', viewId: 'owner' },
      { bankId: 'B', accountId: 'ao', viewId: 'wner' },
      { bankId: 'B', accountId: 'a","owner', viewId: 'x' },
      { bankId: 'B', accountId: 'a', viewId: 'owner","x' },
    ];
    bank.otherwise(({ path }) => ({ body: { otherAccounts: [{ bank: path }] } }));
    const answers = await Promise.all(keys.map((key) => loaders.otherAccounts.load(key)));
    const paths = keys.map(
      ({ bankId: inOne, accountId, viewId }) =>
        `/v1/api/banks/${inOne}/accounts/${encodeURIComponent(accountId)}/${encodeURIComponent(viewId)}/other_accounts`,
    );
    expect(answers.slice(1)).toEqual(paths.slice(1).map((path) => [{ bank: path }]));
    expect(answers[0]).toEqual([{ bank: 'X' }]);
    expect(bank.lines().toSorted()).toEqual(paths.map((path) => `GET ${path}`).toSorted());
  });

  test('of POST queries tell bodies apart', async () => {
    const line = `POST ${inBank}/branches`;
    bank.on(line, ({ body }) => ({ body: { branches: [branchOf({ name: body })] } }));
    const queries = [{ id: 'B' }, { id: 'B', name: 'x' }, { id: 'B', name: 'y' }, { id: 'C' }];
    const load = () => Promise.all(queries.map((query) => loaders.postBranches.load({ bankId, query })));
    const [answers] = await Promise.all([load(), load()]);
    const bodies = queries.map((query) => JSON.stringify(query));
    expect(answers.map(([branch]) => branch?.name)).toEqual(bodies);
    expect(bank.calls.map(({ body }) => body).toSorted()).toEqual(bodies.toSorted());
  });

  test('call for all keys of one turn at once: none waits for another’s answer', async () => {
    const count = 12;
    const all = Promise.withResolvers<void>();
    bank.otherwise(async ({ path }) => {
      if (bank.calls.length === count) all.resolve();
      await all.promise;
      return { body: { legal_name: path, branches: [] } };
    });
    const answers = await Promise.all([
      ...Array.from({ length: count - 1 }, (_, index) =>
        loaders.customer.load({ bankId, customerId: `together-${index}` }),
      ),
      loaders.branches.load({ bankId: 'together' }),
    ]);
    expect(answers).toHaveLength(count);
    expect(new Set(bank.lines()).size).toBe(count);
  });

  test('keep a failure as they keep an answer: one call, one error for all who ask', async () => {
    bank.otherwise({ status: 404, body: { message: 'no such customer' } });
    const load = () =>
      loaders.customer.load({ bankId, customerId: 'nobody' }).catch((error: unknown) => error);
    const [one, two] = await Promise.all([load(), load()]);
    const three = await load();
    expect(one).toBeInstanceOf(BankqlError);
    expect(one).toMatchObject({ code: 'NOT_FOUND', extensions: { operation: 'getCustomer', status: 404 } });
    expect([two, three]).toEqual([one, one]);
    expect(two).toBe(one);
    expect(three).toBe(one);
    expect(bank.lines()).toEqual([`GET ${inBank}/customers/nobody`]);
  });

  test('fail one key without failing its neighbours', async () => {
    const load = (customerId: string) =>
      loaders.customer.load({ bankId, customerId }).catch((error: unknown) => error);
    expect(await Promise.all([load('c'), load('..'), load('c')])).toEqual([
      { legal_name: 'C' },
      expect.objectContaining({ code: 'BAD_USER_INPUT' }),
      { legal_name: 'C' },
    ]);
    expect(bank.lines()).toEqual([`GET ${inBank}/customers/c`]);
  });

  test('give each answer when it is there: none waits for those that were asked for in the same turn', async () => {
    const slow = Promise.withResolvers<void>();
    bank.on(`GET ${inBank}/customers/late`, async () => {
      await slow.promise;
      return { body: {} };
    });
    const asked = [
      loaders.customer.load({ bankId, customerId: 'late' }),
      loaders.customer.load({ bankId, customerId: 'late' }),
    ];
    expect(await loaders.customer.load({ bankId, customerId: 'c' })).toEqual({
      legal_name: 'C',
    });
    expect(await loaders.branches.load({ bankId })).toEqual([branchOf()]);
    slow.resolve();
    expect(await Promise.all(asked)).toEqual([{}, {}]);
  });
});

describe('what is read already', () => {
  test('waits for no other read of the same loader: it is the same promise', async () => {
    const reads: string[] = [];
    const late = Promise.withResolvers<never>();
    const loaders = createLoaders({
      bank: {
        prepare: (_operation: unknown, { ids }: { readonly ids: unknown }) => ids,
        reads: {
          read({ customerId }: { readonly customerId: string }) {
            reads.push(customerId);
            return customerId === 'late' ? late.promise : Promise.resolve({ legal_name: customerId });
          },
        },
      },
      credentials: canaries,
      observer: null,
      admit: () => null,
    } as unknown as LoaderSession);
    const read = loaders.customer.load({ bankId, customerId: 'c' });
    expect(await read).toEqual({ legal_name: 'c' });
    const missed = loaders.customer.load({ bankId, customerId: 'late' });
    expect(loaders.customer.load({ bankId, customerId: 'c' })).toBe(read);
    expect(await loaders.customer.load({ bankId, customerId: 'c' })).toEqual({ legal_name: 'c' });
    const failure = new Error('late');
    late.reject(failure as never);
    await expect(missed).rejects.toBe(failure);
    await expect(loaders.customer.load({ bankId, customerId: 'late' })).rejects.toBe(failure);
    expect(reads).toEqual(['c', 'late']);
  });

  test('DataLoader resolves each key of a batch with its own promise', async () => {
    const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const batches: (readonly string[])[] = [];
    // The types of DataLoader do not express this behaviour, on which loaders.ts relies.
    const answers = [one.promise, other.promise] as unknown as string[];
    const loader = new DataLoader<string, string>(
      (keys) => {
        batches.push(keys);
        return Promise.resolve(answers);
      },
      { cache: false },
    );
    const [first, second] = [loader.load('one'), loader.load('other')];
    one.resolve('answer');
    expect(await first).toBe('answer');
    const failure = new Error('refused');
    other.reject(failure);
    await expect(second).rejects.toBe(failure);
    expect(batches).toEqual([['one', 'other']]);
  });
});
