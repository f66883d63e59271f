import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bodyOf, idsIn, keyOf, pathOf, readKey } from '../../src/bank/request.ts';
import { type Operation, ownName } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { BankqlError } from '../../src/errors.ts';
import { createTestClient } from '../support/bank-client.ts';
import { reply, startFaultyBank } from '../support/faulty-bank.ts';
import { idCorpus } from '../support/id-corpus.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';

/** Every placeholder of every operation. */
const places = Object.values(operations).flatMap(({ id, path }) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ id, name })),
);

/** The request line with one segment replaced. The sample's own line shows where the segments are. */
function lineWith({ operation, ids, line }: SampleCall, name: string, segment: string): string {
  const index = operation.path.split('/').indexOf(`{${name}}`);
  const segments = line.split('/');
  expect(segments[index]).toBe(encodeURIComponent(ids[ownName(name)] ?? ''));
  return segments.with(index, segment).join('/');
}

describe('an id in a path', () => {
  let bank: RecordingBank;
  let client: ReturnType<typeof createTestClient>;
  beforeAll(async () => {
    bank = await startRecordingBank();
    client = createTestClient(bank.url);
  });
  beforeEach(() => {
    bank.calls.length = 0;
  });
  afterAll(async () => {
    await client.close();
    await bank.close();
  });

  test('is tried with more than 60 ids', () => {
    expect(new Set(idCorpus.map(([, id]) => id)).size).toBe(idCorpus.length);
    expect(idCorpus.length).toBeGreaterThan(60);
  });

  test.each(places)('changes $name of $id only, or no call is made', async ({ id, name }) => {
    const sample = sampleCalls[id];
    bank.otherwise({ body: sample.reply });
    for (const [what, value, segment] of idCorpus) {
      bank.calls.length = 0;
      const result = await sample
        .run(client, canaries, { [ownName(name)]: value })
        .catch((error: unknown) => error);
      if (segment === null) {
        expect(result, what).toBeInstanceOf(BankqlError);
        expect(result, what).toMatchObject({ code: 'BAD_USER_INPUT', extensions: { retryable: false } });
        expect(bank.lines(), what).toEqual([]);
      } else {
        expect(result, what).toMatchObject({ answer: sample.answer });
        expect(bank.lines(), what).toEqual([lineWith(sample, name, segment)]);
      }
    }
  });

  test('is not repeated by the error that refuses it, which names its place', () => {
    const refused = idCorpus.filter(([, id, segment]) => segment === null && id.length > 5);
    for (const [what, id] of refused) {
      const error = thrownBy(() => sampleCalls.getCustomer.prepare(client, canaries, { customerId: id }));
      expect(error.message, what).toContain('CUSTOMER_ID');
      expect(error.message, what).not.toContain(id);
      expect(error.message.length, what).toBeLessThan(200);
    }
  });

  test('is refused where it is missing', () => {
    expect(
      thrownBy(() => client.prepare(operations.getCustomer, { ...noIds, credentials: canaries })),
    ).toMatchObject({ code: 'BAD_USER_INPUT' });
  });
});

describe('to the byte', () => {
  test('a request is its head, and a body of the length that the head says', async () => {
    await using recorder = await startFaultyBank(reply(200, '{}'));
    await using client = createTestClient(recorder.url);
    const sample = sampleCalls.putCustomerID;
    const { trackId } = await sample.run(client);
    const lines = [
      `${sample.line} HTTP/1.1`,
      `host: ${new URL(recorder.url).host}`,
      'connection: close',
      `Ocp-Apim-Subscription-Key: ${canaries.subscriptionKey}`,
      `Auth-Provider-Name: ${canaries.authProviderName}`,
      `Auth-ID: ${canaries.authId}`,
      'Accept: application/json',
      'Accept-Encoding: identity',
      'Content-Type: application/json',
      `Track-ID: ${trackId}`,
      `content-length: ${Buffer.byteLength(sample.sent)}`,
      '',
      Buffer.from(sample.sent, 'utf8').toString('latin1'),
    ];
    expect(recorder.requests.map((request) => request.split('\r\n').toSorted())).toEqual([lines.toSorted()]);
  });
});

/** Ids that code without TypeScript could leave out. */
const noIds: { ids: { bankId: string; customerId: string } } = JSON.parse('{"ids":{"bankId":"B"}}');

function thrownBy(work: () => unknown): BankqlError {
  try {
    work();
  } catch (error) {
    if (error instanceof BankqlError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the key of a read', () => {
  /** Ids that look like parts of paths, and ids whose encodings could be mistaken for each other. */
  const id = fc.constantFrom(
    'a',
    'views',
    'other_accounts',
    'transaction',
    'customer',
    'messages',
    'é',
    'a b',
    '"',
  );
  const reads: readonly Operation[] = Object.values(operations).filter(({ kind }) => kind === 'read');

  /** The ids of all paths. */
  const names = reads.flatMap(({ path }) => idsIn(path, path).map(([name]) => ownName(name)));

  const read = fc.record({
    operation: fc.constantFrom(...reads),
    ids: fc.record({
      ...Object.fromEntries(names.map((name) => [name, id])),
      scope: fc.constantFrom('views', 'permissions'),
    }),
    body: fc.record({ id }),
  });
  type Read = typeof read extends fc.Arbitrary<infer T> ? T : never;

  /** The ids of a path, in the order in which the path contains their names. */
  const ownIds = ({ operation, ids }: Read) =>
    idsIn(operation.path, operation.path).map(([name]) => [name, Reflect.get(ids, ownName(name))]);
  const identityOf = (one: Read) =>
    JSON.stringify([one.operation.id, ownIds(one), one.operation.body && one.body]);
  const keyOfRead = ({ operation, ids, body }: Read) =>
    keyOf(pathOf(operation, ids), bodyOf(operation, body));

  test('two reads have the same key only if operation, ids and body are the same', () => {
    fc.assert(
      fc.property(read, read, (one, other) => {
        expect(keyOfRead(one) === keyOfRead(other)).toBe(identityOf(one) === identityOf(other));
      }),
      { seed: 20_261_120, numRuns: 5000 },
    );
  });

  test('ids that no path can contain are the key, and nothing else that their node knows', () => {
    const ids = { bankId: 'B', accountId: '19-2000145399/0800', viewId: 'owner' };
    const { getOtherAccounts } = operations;
    const key = readKey(getOtherAccounts, ids);
    const list = { toJSON: () => expect.fail('the list is written') };
    expect(readKey(getOtherAccounts, { ...ids, from: { list } } as typeof ids)).toBe(key);
    expect(readKey(getOtherAccounts, { ...ids, viewId: 'other' })).not.toBe(key);
    expect(readKey(operations.getAccountsScope, { ...ids, scope: 'views' })).not.toBe(key);
  });

  test('a path contains its ids', () => {
    fc.assert(
      fc.property(read, (one) => {
        expect(idsIn(one.operation.path, pathOf(one.operation, one.ids))).toEqual(ownIds(one));
      }),
      { seed: 20_261_120, numRuns: 500 },
    );
  });
});
