import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import type { HttpResponse } from '../../src/bank/http-message.ts';
import { ParsedResponseCache } from '../../src/bank/parsed-responses.ts';
import type { Drift } from '../../src/bank/response.ts';
import type { ReadLimits } from '../../src/bank/shared-reads.ts';
import { getBranches, postBranches } from '../../src/contract/branch.ts';
import { getCustomer, putCustomerID } from '../../src/contract/customer.ts';
import { bankDefaults } from '../support/bankql.ts';
import { readFrom } from '../support/read-from.ts';
import { type RecordingBank, type Reply, startRecordingBank } from '../support/recording-bank.ts';

const json = (body: string, status = 200, type = 'application/json'): HttpResponse => ({
  status,
  headers: { 'content-type': type },
  body: Buffer.from(body),
  milliseconds: 5,
});

/** Reads answers, and counts how many were read from their bytes. */
function reading(maxBytes = 1_000_000) {
  const kept = new ParsedResponseCache(maxBytes);
  let count = 0;
  const readAs = (isValid: boolean) => (name: string, reply: HttpResponse) => {
    const known = kept.find(name, reply);
    if (known !== null) return known;
    count++;
    const parsed = { answer: reply.body.toString(), isValid, drifts: [] };
    kept.add(name, reply, parsed);
    return parsed;
  };
  return { kept, read: readAs(true), readBroken: readAs(false), count: () => count };
}

describe('what was made of bytes is taken again', () => {
  test('from the third time that they come, since most come once', () => {
    const { read, count } = reading();
    const answers = Array.from({ length: 5 }, () => read('a', json('{}')));
    expect(count()).toBe(2);
    expect(answers[4]).toBe(answers[1]);
  });

  test.each([
    ['another name', 'b', json('{}')],
    ['other bytes', 'a', json('{ }')],
    ['other bytes of the same length', 'a', json('[]')],
    ['another status', 'a', json('{}', 201)],
    ['another content type', 'a', json('{}', 200, 'application/json; charset=utf-8')],
  ])('but not for %s', (_, name, reply) => {
    const { read, count } = reading();
    for (let turn = 0; turn < 3; turn++) read('a', json('{}'));
    const before = count();
    expect(read(name, reply).answer).toBe(reply.body.toString());
    expect(count()).toBe(before + 1);
  });

  test('and not where a value broke the contract: an error bears its own call’s Track-ID', () => {
    const { readBroken, count } = reading();
    for (let turn = 0; turn < 5; turn++) readBroken('a', json('{}'));
    expect(count()).toBe(5);
  });

  test('where they changed and stay so, from the third time again', () => {
    const { read, count } = reading();
    for (let turn = 0; turn < 5; turn++) read('a', json('1'));
    for (let turn = 0; turn < 5; turn++) expect(read('a', json('2')).answer).toBe('2');
    expect(count()).toBe(4);
  });
});

describe('memory', () => {
  test('is bounded, whatever comes: the oldest goes', () => {
    const { kept, read, count } = reading(100_000);
    for (let path = 0; path < 10_000; path++) read(`path-${path}`, json('x'.repeat(path % 3000)));
    expect(kept.bytes).toBeLessThanOrEqual(100_000);
    for (let turn = 0; turn < 3; turn++) read('path-0', json(''));
    expect(count()).toBe(10_002);
    for (let turn = 0; turn < 3; turn++) read('long', json('x'.repeat(50_000)));
    expect(kept.bytes).toBeLessThanOrEqual(100_000);
  });

  test('is not taken by an answer of more than a megabyte', () => {
    const { kept, read } = reading(10_000_000);
    for (let turn = 0; turn < 3; turn++) read('a', json('x'.repeat(1024 * 1024 + 1)));
    expect(kept.bytes).toBe(0);
  });

  test('is not taken by what surrounds the bytes', () => {
    const { kept, read } = reading();
    const around = Buffer.alloc(64 * 1024);
    for (let turn = 0; turn < 3; turn++) read('a', { ...json(''), body: around.subarray(10, 20) });
    expect(kept.bytes).toBeLessThan(1000);
  });

  test('is written ever more rarely for a name whose bytes always change', () => {
    const { kept, read } = reading();
    const sizes: number[] = [];
    for (let turn = 1; turn <= 300; turn++) {
      read('a', json('x'.repeat(turn)));
      sizes.push(kept.bytes);
    }
    expect(new Set(sizes).size).toBeLessThan(12);
  });
});

describe('over the wire', () => {
  let bank: RecordingBank;
  let client: BankClient;
  const drifts: string[] = [];
  const open = (options: Partial<BankOptions> = {}) =>
    createBankClient({
      ...bankDefaults,
      baseUrl: bank.url,
      onDrift: ({ operation, field }: Drift) => drifts.push(`${operation} ${field}`),
      ...options,
    });
  beforeEach(async () => {
    drifts.length = 0;
    bank = await startRecordingBank();
    client = open();
  });
  afterEach(async () => {
    await client.close();
    await bank.close();
  });

  const caller = (authId: string): Credentials => ({
    subscriptionKey: `key-of-${authId}`,
    authProviderName: 'provider',
    authId,
  });
  const customerOf = async (authId: string) =>
    (
      await readFrom(client, getCustomer, {
        ids: { bankId: 'B', customerId: 'c' },
        credentials: caller(authId),
      })
    ).answer;
  const says = (reply: Reply | ((authId: string) => Reply)) =>
    bank.otherwise(({ headers }) => (typeof reply === 'function' ? reply(headers['auth-id'] ?? '') : reply));

  test('the bank is asked each time; callers who are sent the same bytes share what was made of them', async () => {
    says({ body: { email: 'a@b', bank_id: ['B'] } });
    const answers = [
      await customerOf('a'),
      await customerOf('b'),
      await customerOf('a'),
      await customerOf('b'),
    ];
    expect(bank.calls).toHaveLength(4);
    for (const answer of answers) expect(answer).toEqual({ email: 'a@b', bank_id: ['B'] });
    expect(answers[3]).toBe(answers[2]);
  });

  test('who is refused is refused, whatever is kept of others', async () => {
    says((authId) =>
      authId === 'b' ? { status: 403, body: { message: 'no' } } : { body: { email: 'a@b' } },
    );
    for (let turn = 0; turn < 3; turn++) {
      expect(await customerOf('a')).toEqual({ email: 'a@b' });
      await expect(customerOf('b')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    }
  });

  test('who is sent other bytes gets what they say, and so does everybody when they change', async () => {
    says((authId) => ({ body: { email: authId } }));
    for (let turn = 0; turn < 4; turn++)
      for (const authId of ['a', 'b']) expect(await customerOf(authId)).toEqual({ email: authId });
    let version = 0;
    says(() => ({ body: { email: `${++version % 7 < 4}` } }));
    for (let turn = 1; turn < 40; turn++) expect(await customerOf('a')).toEqual({ email: `${turn % 7 < 4}` });
  });

  test('the same bytes in another content type are refused, though they are kept', async () => {
    says({ body: '{"email":"a@b"}' });
    for (let turn = 0; turn < 3; turn++) await customerOf('a');
    says({ body: '{"email":"a@b"}', headers: { 'Content-Type': 'text/xml' } });
    await expect(customerOf('a')).rejects.toMatchObject({ code: 'BANK_BAD_RESPONSE' });
  });

  test('reads and writes report an answer that cannot be read, but not an answer that says it is an error', async () => {
    const unreadable: unknown[] = [];
    await using made = new AsyncDisposableStack();
    const reported = open({ onUnreadable: (answer) => void unreadable.push(answer) });
    made.defer(() => reported.close());
    const input = { ids: { bankId: 'B', customerId: 'c' }, credentials: caller('a') };
    const badly = { code: 'BANK_BAD_RESPONSE' };
    says({ body: { email: 'a@b' } });
    await readFrom(reported, getCustomer, input);
    says({ body: { message: 'The host is away.' } });
    await expect(readFrom(reported, getCustomer, input)).rejects.toMatchObject({ code: 'BANK_REJECTED' });
    expect(unreadable).toEqual([]);
    says({ body: '{"oops":' });
    await expect(readFrom(reported, getCustomer, input)).rejects.toMatchObject(badly);
    await expect(reported.write(putCustomerID, { ...input, body: {} })).rejects.toMatchObject(badly);
    expect(unreadable).toEqual([
      {
        operation: 'getCustomer',
        trackId: null,
        status: 200,
        failure: "The bank's answer to getCustomer is not JSON.",
      },
      {
        operation: 'putCustomerID',
        trackId: expect.any(String),
        status: 200,
        failure: "The bank's answer to putCustomerID is not JSON.",
      },
    ]);
  });

  test('a query is named by its body too', async () => {
    bank.otherwise(({ body }) => ({ body: { branches: [{ acceptsDeposits: body.includes('yes') }] } }));
    for (let turn = 0; turn < 4; turn++) {
      for (const id of ['yes', 'no']) {
        const input = { ids: { bankId: 'B' }, body: { id }, credentials: caller('a') };
        const { answer } = await readFrom(client, postBranches, input);
        expect(answer).toEqual([{ acceptsDeposits: id === 'yes' }]);
      }
    }
  });

  const long = (id: string) => ({
    branches: [{ id, acceptsDeposits: true, location: { latitude: '1.5' }, name: 'n'.repeat(10_000) }],
  });
  const branchesOf = (limits: ReadLimits) =>
    readFrom(
      client,
      getBranches,
      { ids: { bankId: 'B' }, credentials: caller('a') },
      { ...limits, unshared: true },
    );

  test('an operation needs room for an answer, and gets it back if the answer is one that was parsed before', async () => {
    says({ body: long('same') });
    const asked: number[] = [];
    const full = { keep: (bytes: number) => asked.push(bytes) < 0, run: () => {} };
    await expect(branchesOf({ readBudget: full })).rejects.toMatchObject({ code: 'OVERLOADED' });
    for (let turn = 0; turn < 2; turn++) await branchesOf({});
    const enough = { keep: (bytes: number) => asked.push(bytes) > 0, run: () => {} };
    await branchesOf({ readBudget: enough });
    expect(bank.calls).toHaveLength(4);
    const { length } = JSON.stringify(long('same'));
    expect(asked).toEqual([length, length, -length]);
  });

  test('an answer is counted as it arrives, and one that has no room is not read to its end', async () => {
    says({ body: { branches: [{ id: 'a', name: 'n'.repeat(1_000_000) }] } });
    const asked: number[] = [];
    const full = { keep: (bytes: number) => asked.push(bytes) < 2, run: () => {} };
    await expect(branchesOf({ readBudget: full })).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(asked).toHaveLength(2);
    // Node reads at most 64 kB at a time.
    for (const bytes of asked) expect(bytes).toBeLessThanOrEqual(128 * 1024);
    const enough = {
      keep: (bytes: number) => asked.push(bytes) > 0,
      run: (_: number, work: () => void) => work(),
    };
    await branchesOf({ readBudget: enough });
    expect(asked.slice(2).reduce((sum, bytes) => sum + bytes)).toBe(
      1_000_000 + JSON.stringify({ branches: [{ id: 'a', name: '' }] }).length,
    );
  });

  test('a long answer is parsed in a turn of its operation; if that ends before, it is not parsed at all', async () => {
    const waiting: (() => void)[] = [];
    const arrived = Promise.withResolvers<void>();
    const readBudget = {
      keep: () => true,
      run(_bytes: number, work: () => void) {
        if (waiting.push(work) === 2) arrived.resolve();
      },
    };
    let id = 0;
    says(() => ({ body: long(`${id++}`) }));
    const [ended, goesOn] = [new OperationDeadline(), new OperationDeadline()];
    const reading = [ended, goesOn].map((operationDeadline) => branchesOf({ readBudget, operationDeadline }));
    const outcomes = Promise.allSettled(reading);
    await arrived.promise;
    ended.cancel();
    expect(drifts).toEqual([]);
    for (const work of waiting) work();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(drifts).toEqual(['getBranches location.latitude']);
  });

  test('what drifts is told of each answer, kept or not, and is understood', async () => {
    says({ body: { branches: [{ acceptsDeposits: true, location: { latitude: '1.5' } }] } });
    for (let turn = 1; turn <= 4; turn++) {
      const { answer } = await readFrom(client, getBranches, {
        ids: { bankId: 'B' },
        credentials: caller('a'),
      });
      expect(answer).toEqual([{ acceptsDeposits: true, location: { latitude: 1.5 } }]);
      expect(drifts).toEqual(Array(turn).fill('getBranches location.latitude'));
    }
  });
});
