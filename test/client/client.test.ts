import { parse, print } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { BankqlClientError, type ClientError, createClient, dataOf } from '../../src/client/index.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { lossyFetch } from '../support/lossy-fetch.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

const BranchName = graphql(`
  query BranchName($branchId: ID!) { bank { branch(branchId: $branchId) { name } } }
`);
const RenameBranch = graphql(`
  mutation RenameBranch($input: PutBranchInput!) { putBranch(input: $input) { trackId } }
`);

const line = 'GET /v1/api/banks/BANK/branches';
const branch = { body: { branches: [{ id: 'BR', name: 'Main' }] } };

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
});
beforeEach(() => {
  fixture.bank.calls.length = 0;
});
afterAll(() => fixture[Symbol.asyncDispose]());

const clientOf = (fetch = lossyFetch(), more = {}) =>
  createClient({ url: fixture.url, headers: credentials, fetch, ...more });

/** The first answers of an endpoint that is not bankql, and then bankql's own. */
const answering = (...answers: (() => Response)[]) =>
  Object.assign(async (url: string, init: RequestInit) => answers.shift()?.() ?? fetch(url, init), {
    bodies: [],
  });

describe('a query', () => {
  test('has the types of its document, in and out', async () => {
    fixture.bank.on(line, branch);
    const answer = await clientOf().query(BranchName, { branchId: 'BR' });
    expectTypeOf(answer.data?.bank?.branch?.name).toEqualTypeOf<string | null | undefined>();
    // @ts-expect-error: the variable is required.
    void (() => clientOf().query(BranchName));
    expect(answer).toEqual({ data: { bank: { branch: { name: 'Main' } } }, errors: [], extensions: {} });
    expect(dataOf(answer).bank?.branch?.name).toBe('Main');
    expect(fixture.bank.lines()).toEqual([line]);
  });

  test('brings what stands beside what failed', async () => {
    fixture.bank.on(line, { status: 403, body: { message: 'Not you.' } });
    const answer = await clientOf().query(BranchName, { branchId: 'BR' });
    const [error] = answer.errors;
    expectTypeOf(error?.code).toExtend<string | undefined>();
    expect(answer.data).toEqual({ bank: { branch: null } });
    expect(error).toMatchObject({
      code: 'FORBIDDEN',
      retryable: false,
      status: 403,
      path: ['bank', 'branch'],
      operation: 'getBranches',
      docs: 'docs/errors.md#forbidden',
    });
    expect(() => dataOf(answer)).toThrow(BankqlClientError);
  });

  test('that is lost is asked again, and no more often than it may be', async () => {
    fixture.bank.on(line, branch);
    const lossy = lossyFetch((_body, nth) => (['request', 'answer'] as const)[nth] ?? null);
    const answer = await clientOf(lossy).query(BranchName, { branchId: 'BR' });
    expect(answer.errors).toEqual([]);
    expect(lossy.bodies).toHaveLength(3);

    const down = lossyFetch(() => 'request');
    const { errors } = await clientOf(down, { retries: 1 }).query(BranchName, { branchId: 'BR' });
    expect(errors).toMatchObject([{ code: 'NETWORK_ERROR', retryable: true }]);
    expect(down.bodies).toHaveLength(2);
  });

  test('follows `retryable` and `retryAfter`: it waits as told, and leaves a long wait to the app', async () => {
    fixture.bank.on(line, branch);
    const overloaded = (retryAfter: number) => () =>
      Response.json(
        { errors: [{ message: 'later', extensions: { code: 'OVERLOADED', retryable: true, retryAfter } }] },
        { status: 503 },
      );
    const started = performance.now();
    const short = await clientOf(answering(overloaded(0.3))).query(BranchName, { branchId: 'BR' });
    expect(short.errors).toEqual([]);
    expect(performance.now() - started).toBeGreaterThan(290);
    const long = await clientOf(answering(overloaded(60))).query(BranchName, { branchId: 'BR' });
    expect(long.errors).toMatchObject([{ code: 'OVERLOADED', retryAfter: 60 }]);
  });

  test('of a proxy that answers for bankql is asked again where its status says so', async () => {
    fixture.bank.on(line, branch);
    const page = (status: number) => () => new Response('<h1>no</h1>', { status });
    const later = await clientOf(answering(page(502))).query(BranchName, { branchId: 'BR' });
    expect(later.errors).toEqual([]);
    const gone = await clientOf(answering(page(404))).query(BranchName, { branchId: 'BR' });
    expect(gone.errors).toMatchObject([{ code: 'BAD_RESPONSE', status: 404, retryable: false }]);
  });

  test('keeps what an earlier attempt brought where a later one fails as a whole', async () => {
    const partial = () =>
      Response.json({
        data: { bank: null },
        errors: [{ message: 'slow', path: ['bank'], extensions: { code: 'BANK_TIMEOUT', retryable: true } }],
      });
    const down = () => {
      throw new TypeError('fetch failed');
    };
    const answer = await clientOf(answering(partial, down), { retries: 1 }).query(BranchName, {
      branchId: 'B',
    });
    expect(answer).toMatchObject({ data: { bank: null }, errors: [{ code: 'BANK_TIMEOUT' }] });
  });

  test('keeps what an earlier attempt brought where more fails in a later one', async () => {
    const failure = (path: string) => ({ message: 'slow', path: [path], extensions: { retryable: true } });
    const one = () => Response.json({ data: { a: 1, b: null }, errors: [failure('b')] });
    const both = () => Response.json({ data: { a: null, b: null }, errors: [failure('a'), failure('b')] });
    const { data, errors } = await clientOf(answering(one, both), { retries: 1 }).query('{ a b }');
    expect(data).toEqual({ a: 1, b: null });
    expect(errors).toHaveLength(1);
  });

  test('is not tried again after `retryUntil`', async () => {
    const lossy = lossyFetch(() => 'request');
    await clientOf(lossy).query(BranchName, { branchId: 'BR' }, { retryUntil: Date.now() });
    expect(lossy.bodies).toHaveLength(1);
  });

  test('ends with an abort, while it is sent and while it waits', async () => {
    for (const fetch of [
      lossyFetch(() => () => new Promise(() => {})),
      answering(() =>
        Response.json({ errors: [{ message: '', extensions: { retryable: true, retryAfter: 9 } }] }),
      ),
    ]) {
      const leaving = new AbortController();
      const asked = clientOf(
        Object.assign(
          (url: string, init: RequestInit) =>
            Promise.race([
              fetch(url, init),
              new Promise<never>((_, reject) => init.signal?.addEventListener('abort', reject)),
            ]),
          { bodies: [] },
        ),
      ).query(BranchName, { branchId: 'BR' }, { signal: leaving.signal });
      void lateBy(20).then(() => leaving.abort('left'));
      await expect(asked).rejects.toBe('left');
    }
  });

  test('gives up an attempt that takes too long', async () => {
    fixture.bank.on(line, () => 'hang');
    const { errors } = await clientOf(undefined, { timeoutMs: 30, retries: 0 }).query(BranchName, {
      branchId: 'BR',
    });
    expect(errors).toMatchObject([{ code: 'NETWORK_ERROR', message: 'No answer came within 30 ms.' }]);
  });
});

describe('a mutation', () => {
  test('is sent once, whatever becomes of it', async () => {
    fixture.bank.otherwise({ body: {} });
    const lossy = lossyFetch(() => 'answer');
    const { errors } = await clientOf(lossy).mutate(RenameBranch, {
      input: { branchId: 'BR', branch: { acceptsDeposits: true } },
    });
    expect(errors).toMatchObject([{ code: 'NETWORK_ERROR' }]);
    // A read that an earlier test gave up may arrive only now.
    expect(fixture.bank.lines().filter((each) => each.startsWith('PUT '))).toHaveLength(1);
  });

  test('is no query: it would be sent again', async () => {
    const sent = lossyFetch();
    const input = { branchId: 'BR', branch: { acceptsDeposits: true } };
    await expect(clientOf(sent).query(RenameBranch, { input })).rejects.toThrow(/mutation.*`mutate`/);
    expect(sent.bodies).toEqual([]);
  });
});

test('documents are typed texts, plain texts, and syntax trees with `print`', async () => {
  fixture.bank.on(line, branch);
  const text = '{ bank { branch(branchId: "BR") { name } } }';
  const tree = parse(text);
  for (const answer of [
    await clientOf().query(text),
    await clientOf().query(tree),
    await clientOf(undefined, { print }).query(parse(text, { noLocation: true })),
  ]) {
    expect(answer.data ?? answer.errors).toEqual({ bank: { branch: { name: 'Main' } } });
  }
  await expect(clientOf().query(parse(text, { noLocation: true }))).rejects.toThrow(/`print`/);
});

test('headers are asked for before each attempt, so that a token may be renewed', async () => {
  fixture.bank.on(line, branch);
  let asked = 0;
  const headers = async () => {
    asked++;
    return credentials;
  };
  const lossy = lossyFetch((_body, nth) => (nth === 0 ? 'request' : null));
  await clientOf(lossy, { headers }).query(BranchName, { branchId: 'BR' });
  expect(asked).toBe(2);
});

test('a document that has an id is sent by it, with `persisted`', async () => {
  const sent = lossyFetch();
  const withHash = Object.assign(new String('{ __typename }'), { __meta__: { hash: 'abc' } });
  const ofTada = { documentId: 'sha256:def' };
  const { errors } = await clientOf(sent, { persisted: true }).query(withHash);
  await clientOf(sent, { persisted: true }).query(ofTada);
  await clientOf(sent, { persisted: true }).query('{ __typename }');
  await clientOf(sent).query(withHash);
  expect(sent.bodies).toEqual([
    { documentId: 'abc' },
    { documentId: 'sha256:def' },
    { query: '{ __typename }' },
    { query: '{ __typename }' },
  ]);
  expectTypeOf(errors).toEqualTypeOf<readonly ClientError[]>();
});
