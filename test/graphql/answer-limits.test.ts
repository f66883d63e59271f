import { type ExecutionResult, GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { internalError } from '../../src/graphql/errors.ts';
import { BoundedResult, finalIfItWrote } from '../../src/graphql/result.ts';
import { createRespond } from '../../src/http/respond.ts';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { createTestHolder, credentials, type TestOptions } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { transfer } from '../support/payment-client.ts';
import { branchesOf } from '../support/records.ts';

/** The limits on the size of an answer and on the number of its errors, which a small operation could make large. */

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);

/** A bank of 26 branches, which also has accounts. */
async function startBranches(options: Omit<TestOptions, 'bankUrl'> = {}) {
  const fixture = await startBankqlFixture(options);
  const body = branchesOf(26, (n) => ({ bank: 'BANK', id: `branch-${n}`, name: `Branch ${n}` }));
  for (const id of ['BANK', 'TO-BANK']) fixture.bank.on(`GET /v1/api/banks/${id}/branches`, { body });
  fixture.bank.otherwise(({ path }) =>
    path.endsWith('/make-transaction')
      ? { body: { id: 'T1', status: 'COMPLETED' } }
      : { body: { accounts: [{ id: 'to', label: 'L', owners: [] }], id: 'branch', name: 'put' } },
  );
  const send = async (
    query: string,
    variables: object = {},
    headers: Record<string, string> = credentials,
  ) => {
    const response = await fixture.bankql.fetch(
      new Request('http://bankql.test/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
      }),
    );
    const text = await response.text();
    return { status: response.status, text, result: JSON.parse(text) };
  };
  return { ...fixture, send, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

/** A query for the branches of the bank of the branches of the bank, and so on; `alias` is the bank's name in the answer. */
const nested = (levels: number, alias = 'bank', leaf = 'name'): string =>
  levels === 0 ? leaf : `${alias}: bank { branches { nodes { ${nested(levels - 1, alias, leaf)} } } }`;

const tooLarge = (message: RegExp, more: object = {}) => ({
  data: null,
  errors: [
    {
      message: expect.stringMatching(message),
      extensions: { code: 'LIMIT_EXCEEDED', retryable: false, ...more },
    },
  ],
});

const values = /more than 100000 values .*ask for less/;
const bytes = /longer than \d+ bytes .*ask for less/;

describe('an answer that would be too large is one small error', () => {
  test.each([3, 4])('of a list in a list, %s deep: one REST call, and little is made', async (levels) => {
    await using branches = await startBranches();
    const { result, status, text } = await branches.send(`{ ${nested(levels)} }`);
    expect(result).toEqual(levels === 3 ? { data: expect.anything() } : tooLarge(values));
    expect(status).toBe(200);
    if (levels > 3) expect(text.length).toBeLessThan(1000);
    expect(branches.bank.lines()).toEqual(['GET /v1/api/banks/BANK/branches']);
  });

  test('and the largest that may be is answered, whole', async () => {
    await using branches = await startBranches({ answerLimits: { values: 55, bytes: 100_000 } });
    // The values are bank, branches, nodes, and for each of the 26 entries the entry and its name.
    const query = '{ bank { branches { nodes { name } } } }';
    const { result } = await branches.send(query);
    expect(result.errors).toBeUndefined();
    expect(result.data.bank.branches.nodes).toHaveLength(26);
    expect((await branches.send('{ bank { branches { nodes { name } totalCount } } }')).result).toEqual(
      tooLarge(/more than 55 values/),
    );
  });

  test('though reads are under way, which nobody waits for', async () => {
    await using branches = await startBranches({ answerLimits: { values: 50, bytes: 100_000 } });
    branches.bank.on('GET /v1/api/banks/BANK/customers/C', () => 'hang');
    const { result } = await branches.send(
      '{ bank { customer(customerId: "C") { email } branches { nodes { name } } } }',
    );
    expect(result).toEqual(tooLarge(/more than 50 values/));
    expect(branches.bank.lines().sort()).toEqual([
      'GET /v1/api/banks/BANK/branches',
      'GET /v1/api/banks/BANK/customers/C',
    ]);
  });
});

describe('what a mutation did is told where its answer is too large', () => {
  /** 26 × 26 × 26 branches, with five values of each. */
  const explosion = nested(
    3,
    'bank',
    times(5, (index) => `n${index}: name`),
  );
  const payment = (payload = 'replayed') => `paid: makeTransaction(input: $input) { ${payload} }`;
  const write = (payload = 'trackId') =>
    `put: putBranch(input: { branchId: "branch", branch: { acceptsDeposits: true, name: "put" } }) { ${payload} }`;
  const ask = (branches: Awaited<ReturnType<typeof startBranches>>, ...fields: string[]) =>
    branches.send(`mutation ($input: MakeTransactionInput!) { ${fields.join(' ')} }`, {
      input: transfer('key-1'),
    });
  const paid = (trackId: string | undefined, state: string) => ({
    operation: 'postMakeTransaction',
    idempotencyKey: 'key-1',
    trackId,
    state,
  });
  const sent = (branches: { readonly bank: { readonly lines: () => string[] } }) =>
    branches.bank.lines().filter((line) => !line.startsWith('GET'));

  test('by the payload of a payment', async () => {
    await using branches = await startBranches();
    const { result, status, text } = await ask(
      branches,
      payment(`payment { to { account { ${explosion} } } }`),
    );
    const [{ trackId } = { trackId: '' }] = branches.bankql.audit;
    expect(trackId).toMatch(/^[0-9a-f-]{36}$/);
    expect(result).toEqual(tooLarge(values, paid(trackId, 'DONE')));
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(1000);
    expect(sent(branches)).toEqual(['POST /v1/api/banks/BANK/accounts/key-1/make-transaction']);
  });

  test('by a field after the payment, which was done as well', async () => {
    await using branches = await startBranches();
    const { result } = await ask(branches, payment(), write(`branch { ${explosion} }`));
    const [{ trackId } = { trackId: '' }] = branches.bankql.audit;
    const writes = [{ operation: 'putBranchID', trackId: expect.stringMatching(/^[0-9a-f-]{36}$/) }];
    expect(result).toEqual(tooLarge(values, { ...paid(trackId, 'DONE'), writes }));
    expect(sent(branches)).toEqual([
      'POST /v1/api/banks/BANK/accounts/key-1/make-transaction',
      'PUT /v1/api/banks/BANK/branches/branch',
    ]);
  });

  test('by a field before the payment, which is then not made', async () => {
    await using branches = await startBranches();
    const { result } = await ask(branches, write(`branch { ${explosion} }`), payment());
    expect(result).toEqual(
      tooLarge(values, { writes: [{ operation: 'putBranchID', trackId: expect.any(String) }] }),
    );
    expect(sent(branches)).toEqual(['PUT /v1/api/banks/BANK/branches/branch']);
    expect(branches.bankql.audit).toEqual([]);
  });

  // one-payment-rule.test.ts tests the states of all codes.
  test.each([
    [503, 'UNKNOWN', 'OUTCOME_UNKNOWN'],
    [401, 'NOT_SENT', 'UNAUTHENTICATED'],
  ])('where the payment was answered with %s: %s', async (status, state, paymentCode) => {
    await using branches = await startBranches();
    branches.bank.on('POST /v1/api/banks/BANK/accounts/key-1/make-transaction', {
      status,
      body: { code: status },
    });
    const { result } = await ask(branches, payment(), write(`branch { ${explosion} }`));
    const [{ trackId } = { trackId: '' }] = branches.bankql.audit;
    const { trackId: _, ...free } = paid(trackId, state);
    const told = { ...(state === 'NOT_SENT' ? free : paid(trackId, state)), paymentCode };
    expect(result).toEqual(tooLarge(values, { ...told, writes: [expect.anything()] }));
  });

  test('where only its JSON is too long', async () => {
    await using branches = await startBranches({ answerLimits: { values: 100_000, bytes: 5000 } });
    branches.bank.on('POST /v1/api/banks/BANK/accounts/key-1/make-transaction', {
      body: { id: `T${'\\'.repeat(3000)}`, status: 'BOOKED' },
    });
    const { result } = await ask(branches, payment('payment { transactionId }'));
    const [{ trackId } = { trackId: '' }] = branches.bankql.audit;
    expect(result).toEqual(tooLarge(bytes, paid(trackId, 'DONE')));
  });
});

describe('errors', () => {
  const account = (index: number) =>
    encodeGlobalId('Account', JSON.stringify(['BANK', `A${index}`, 'owner']));
  /** Seven account fields that fail without a call. */
  const failing = times(7, (index) => `f${index}: otherAccounts(first: -1) { totalCount }`);

  test('are 100 at most, and a last one says how many were left out', async () => {
    await using branches = await startBranches();
    const ids = Array.from({ length: 100 }, (_, index) => account(index));
    const { result, text } = await branches.send(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Account { ${failing} } } }`,
      { ids },
    );
    expect(result.errors).toHaveLength(101);
    expect(result.errors[100]).toEqual({
      message: '600 more fields failed; an answer shows the first 100 errors.',
      extensions: { code: 'LIMIT_EXCEEDED', retryable: false },
    });
    expect(result.data.nodes).toHaveLength(100);
    expect(result.data.nodes[99]).toEqual(
      Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`f${index}`, null])),
    );
    expect(text.length).toBeLessThan(40_000);
    expect(branches.bank.calls).toEqual([]);
  });

  test('repeat no alias of 85,000 letters: one has 128 at most', async () => {
    await using branches = await startBranches();
    const ids = Array.from({ length: 100 }, (_, index) => account(index));
    const asked = (alias: string) =>
      branches.send(`query ($ids: [ID!]!) { ${alias}: nodes(ids: $ids) { ... on Account { ${failing} } } }`, {
        ids,
      });
    const { status, text, result } = await asked('a'.repeat(85_000));
    expect(status).toBe(400);
    expect(result.errors).toEqual([
      expect.objectContaining({
        message: 'The operation holds an alias of 85000 characters, and one may have 128; use shorter names.',
        extensions: { code: 'LIMIT_EXCEEDED', retryable: false },
      }),
    ]);
    expect(text.length).toBeLessThan(1000);
    expect((await asked('a'.repeat(129))).status).toBe(400);
    expect((await asked('a'.repeat(128))).result.errors).toHaveLength(101);
  });
});

describe('ids of nodes', () => {
  const customer = (index: number) => encodeGlobalId('Customer', `["BANK","C${index}"]`);
  const ids = (count: number) => Array.from({ length: count }, (_, index) => customer(index));

  test.each(['literals', 'variables'])(
    'are 100 in an operation, as %s: further ones are null with one error, and no call is made for them',
    async (kind) => {
      await using branches = await startBranches();
      branches.bank.otherwise({ body: { email: 'e' } });
      const written = kind === 'literals';
      const list = written ? JSON.stringify(ids(60)) : '$ids';
      const { result } = await branches.send(
        `query${written ? '' : ' ($ids: [ID!]!)'} { a: nodes(ids: ${list}) { ... on Customer { email } } b: nodes(ids: ${list}) { ... on Customer { email } } }`,
        written ? {} : { ids: ids(60) },
      );
      expect(result.errors).toMatchObject([
        {
          message:
            'The operation asks for more than 100 nodes by their ids: this one and all that follow are null. Ask for at most 100 at a time.',
          path: ['b', 40],
          extensions: { code: 'BAD_USER_INPUT' },
        },
      ]);
      const email = { email: 'e' };
      expect(result.data).toEqual({
        a: Array(60).fill(email),
        b: [...Array(40).fill(email), ...Array(20).fill(null)],
      });
      expect(branches.bank.lines()).toHaveLength(60);
    },
  );
});

describe('a bounded result', () => {
  /** The answer that replaces a result that cannot be sent. */

  const answerOf = createRespond({}, (error) => ({ data: { unexpected: String(error) } }));
  const serialize = (result: ExecutionResult, mediaType: 'application/json') =>
    answerOf(result, {
      mediaType,
      request: { method: 'POST', headers: {} },
      holder: createTestHolder(),
      activity: null,
    });
  const seen: unknown[] = [];
  const resultOf = (data: Record<string, unknown>, maxBytes = 100) =>
    new BoundedResult(
      { data },
      {
        maxBytes,
        withoutData: (error) => {
          seen.push(error);
          return { errors: [error instanceof GraphQLError ? error : internalError()], data: null };
        },
      },
    );

  test('a result that cannot be serialized is INTERNAL, and not an exception', () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    for (const broken of [ring, { n: 1n }]) {
      const { status, body } = serialize(resultOf(broken), 'application/json');
      expect(status).toBe(500);
      expect(JSON.parse(String(body))).toEqual({
        errors: [expect.objectContaining({ extensions: { code: 'INTERNAL', retryable: false } })],
        data: null,
      });
      expect(seen.at(-1)).toBeInstanceOf(TypeError);
    }
  });

  test('its JSON may have this number of bytes in UTF-8, and no more', () => {
    // {"data":{"t":"…"}} has 17 bytes without its text.
    const body = (text: string) =>
      JSON.parse(String(serialize(resultOf({ t: text }), 'application/json').body));
    expect(body('a'.repeat(83)).data).toEqual({ t: 'a'.repeat(83) });
    expect(body('a'.repeat(84))).toMatchObject({ data: null, errors: [{}] });
    expect(body('α'.repeat(41)).data).toEqual({ t: 'α'.repeat(41) });
    expect(body('α'.repeat(42))).toMatchObject({ data: null, errors: [{}] });
  });

  test('data whose JSON was made before stands where it belongs', () => {
    const result = {
      errors: [new GraphQLError('first')],
      data: { text: 'α' },
      extensions: { stale: [] },
    };
    for (const each of [
      result,
      { data: result.data },
      { data: result.data, extensions: result.extensions },
    ]) {
      const options = { maxBytes: 1000, withoutData: () => ({}) };
      const dataJson = [Buffer.from(JSON.stringify(each.data))];
      const [made, plain] = [{ ...options, dataJson }, options].map((with_) =>
        serialize(new BoundedResult(each, with_), 'application/json'),
      );
      expect(String(made?.body)).toBe(String(plain?.body));
    }
  });

  test('who has paid or written is not asked to try again, whatever ends the answer', () => {
    const refusal = (extensions: object) => ({
      errors: [
        new GraphQLError('m', {
          extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1, ...extensions },
        }),
      ],
    });
    const paid = { idempotencyKey: 'k', state: 'DONE' };
    for (const done of [paid, { writes: [] }])
      expect(finalIfItWrote(refusal(done)).errors?.[0]?.extensions).toEqual({
        ...done,
        code: 'OVERLOADED',
        retryable: false,
        http: { status: 503 },
      });
    const nothing = refusal({});
    expect(finalIfItWrote(nothing)).toBe(nothing);
  });
});
