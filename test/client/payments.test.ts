import { readFileSync } from 'node:fs';
import { parse } from 'graphql';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  createClient,
  createPayments,
  type KeyStorage,
  type PaymentOutcome,
  type Payments,
} from '../../src/client/index.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { type Loss, lossyFetch } from '../support/lossy-fetch.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

const Transfer = graphql(`
  mutation ClientTransfer($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { trackId transactionId replayed }
  }
`);
const TransferAndRead = graphql(`
  mutation ClientTransferAndRead($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { trackId from { account { label } } }
  }
`);

const PayOnScreen = graphql(`
  mutation PayOnScreen($input: PayInput!) {
    pay(input: $input) { replayed payment { state } userErrors { code message retryable retryAfter } }
  }
`);

const line = 'POST /v1/api/banks/BANK/accounts/ACC/make-transaction';
const input = { accountId: 'ACC', to: { accountId: 'TO' }, value: { amount: '12.50', currency: 'EUR' } };
const other = { ...input, value: { amount: '99.00', currency: 'EUR' } };
const accepted = { status: 201, body: { id: 'TX', status: 'COMPLETED' } };

let fixture: ServerFixture;
beforeAll(async () => {
  // Whatever a busy machine takes, the bank's answers are not too late.
  const milliseconds = 60_000;
  fixture = await startServerFixture({
    bankOptions: {
      timeoutMs: milliseconds,
      paymentTimeoutMs: milliseconds,
      connectTimeoutMs: milliseconds,
      waitMs: milliseconds,
    },
  });
});
beforeEach(() => {
  fixture.bank.calls.length = 0;
  fixture.bank.on(line, accepted);
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** What stays in a browser when its page is loaded anew. */
function createStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => items.set(name, value),
    removeItem: (name: string) => items.delete(name),
  };
}

/** A page of an app; a reload makes another one with the same storage. */
function openPage<Storage extends KeyStorage = ReturnType<typeof createStorage>>(
  losses?: (body: string, nth: number) => Loss,
  given?: Storage,
  {
    headers = {},
    ...more
  }: { readonly headers?: Record<string, string>; readonly [option: string]: unknown } = {},
) {
  const storage = given ?? createStorage();
  const fetch = lossyFetch(losses);
  const client = createClient({
    url: fixture.url,
    headers: { ...credentials, ...headers },
    fetch,
    retries: 0,
  });
  return { payments: createPayments({ client, storage, ...more }), fetch, storage };
}

/** The bank accepts the payment when `release` is called; `arrived` resolves when the payment has reached it. */
function holdPayment() {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  fixture.bank.on(line, async () => {
    arrived.resolve();
    await released.promise;
    return accepted;
  });
  return { arrived: arrived.promise, release: released.resolve };
}

const isPayment = (body: string) => body.includes('makeTransaction');
const sent = () => fixture.bank.lines().filter((each) => each === line).length;

describe('a payment', () => {
  test('is answered with the types of its document, without the key in its input', async () => {
    const { payments } = openPage();
    const outcome = await payments.pay('draft', Transfer, { input });
    expectTypeOf(outcome.data?.makeTransaction?.trackId).toEqualTypeOf<string | undefined>();
    // @ts-expect-error: the helper makes the key.
    void (() => payments.pay('draft', Transfer, { input: { ...input, idempotencyKey: 'mine' } }));
    expect(outcome).toMatchObject({
      state: 'DONE',
      resumed: false,
      idempotencyKey: expect.stringMatching(/^[\da-f-]{36}$/),
      data: { makeTransaction: { transactionId: 'TX', replayed: false } },
      errors: [],
    });
    expect(sent()).toBe(1);
  });

  test('is made once for a double click, and for a click after its end', async () => {
    const { payments, fetch } = openPage();
    const [first, second] = await Promise.all([
      payments.pay('draft', Transfer, { input }),
      payments.pay('draft', Transfer, { input }),
    ]);
    expect(second).toBe(first);
    expect(fetch.bodies).toHaveLength(1);
    const third = await payments.pay('draft', Transfer, { input });
    expect(third).toMatchObject({
      state: 'DONE',
      resumed: true,
      data: { makeTransaction: { replayed: true } },
    });
    expect(sent()).toBe(1);
  });

  test('whose record may not be read is unconfirmed, and the errors end with the reason', async () => {
    fixture.bank.on(line, { status: 400, body: { message: 'Insufficient funds' } });
    const { payments } = openPage(undefined, undefined, { paymentQuery: '{ unknown }' });
    expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
      state: 'UNCONFIRMED',
      errors: [{ code: 'BANK_REJECTED' }, { code: 'GRAPHQL_VALIDATION_FAILED' }],
    });
  });

  test('is a new one after `forget`', async () => {
    const { payments, storage } = openPage();
    await payments.pay('draft', Transfer, { input });
    await payments.forget('draft');
    expect(storage.items.size).toBe(0);
    await payments.pay('draft', Transfer, { input });
    expect(sent()).toBe(2);
  });

  test('is made once by the example of docs/clients.md, although the second tap of two is late', async () => {
    const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
    const [example] =
      /^const \{.*payments\.pay\(draft\.id[\s\S]*?(?=^```)/m.exec(page) ?? expect.unreachable();
    const names = ['payments', 'draft', 'TransferDocument', 'input', 'showResult'];
    const tap = new Function(...names, `return (async () => {${example}})()`);
    const { payments } = openPage();
    for (const _ of ['first', 'second'])
      await tap(payments, { id: 'draft' }, String(Transfer), input, () => {});
    expect(sent()).toBe(1);
  });

  test.each(['request', 'answer'] as const)(
    'whose %s is lost is made once, and its end is found',
    async (loss) => {
      let lost = 0;
      const { payments } = openPage((body) => (isPayment(body) && lost++ < 2 ? loss : null));
      const outcome = await payments.pay('draft', Transfer, { input });
      expect(outcome).toMatchObject({ state: 'DONE', data: { makeTransaction: { transactionId: 'TX' } } });
      expect(sent()).toBe(1);
    },
  );

  test('keeps its key before it is sent, and over a reload in mid-payment', async () => {
    const { arrived, release } = holdPayment();
    const storage = createStorage();
    void openPage(undefined, storage).payments.pay('draft', Transfer, { input });
    await arrived;
    expect(storage.items.size).toBe(1);

    const reloaded = openPage(undefined, storage).payments;
    expect(await reloaded.check('draft')).toMatchObject({ state: 'PENDING', payment: { state: 'PENDING' } });
    const again = reloaded.pay('draft', Transfer, { input });
    void lateBy(50).then(() => release());
    expect(await again).toMatchObject({ state: 'DONE', resumed: true });
    expect(await reloaded.check('draft')).toMatchObject({
      state: 'DONE',
      payment: { transactionId: 'TX', value: { amount: '12.50' } },
    });
    expect(sent()).toBe(1);
  });

  test('of unknown outcome is told as such, and never sent again', async () => {
    fixture.bank.on(line, { status: 503, body: '' });
    const { payments } = openPage();
    for (const resumed of [false, true]) {
      expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
        state: 'UNKNOWN',
        resumed,
        payment: { state: 'UNKNOWN', trackId: fixture.bank.calls[0]?.headers['track-id'] },
        errors: [{ code: 'OUTCOME_UNKNOWN' }],
      });
    }
    expect(await payments.check('draft')).toMatchObject({ state: 'UNKNOWN' });
    expect(sent()).toBe(1);
  });

  test('that the bank refuses is refused with its words, and the next one has a new key', async () => {
    fixture.bank.on(line, { status: 422, body: { message: 'The limit is used up.' } });
    const { payments, storage } = openPage((body, nth) => (isPayment(body) && nth === 0 ? 'answer' : null));
    const refused = await payments.pay('draft', Transfer, { input });
    expect(refused).toMatchObject({ state: 'REJECTED', errors: [{ code: 'BANK_REJECTED', status: 422 }] });
    expect(sent()).toBe(1);
    expect(storage.items.size).toBe(0);
    fixture.bank.on(line, accepted);
    const paid = await payments.pay('draft', Transfer, { input });
    expect(paid).toMatchObject({ state: 'DONE', resumed: false });
    expect(paid.idempotencyKey).not.toBe(refused.idempotencyKey);
  });

  test('that bankql has no time for is sent as late as it says', async () => {
    const server = openPage();
    let refusals = 0;
    const client = createClient({
      url: fixture.url,
      headers: credentials,
      async fetch(url, init) {
        if (!isPayment(String(init.body)) || refusals++ > 0) return fetch(url, init);
        const extensions = { code: 'OVERLOADED', retryable: true, retryAfter: 0.1 };
        return Response.json({ errors: [{ message: 'later', extensions }] }, { status: 503 });
      },
    });
    const payments = createPayments({ client, storage: server.storage });
    expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'DONE' });
    expect(refusals).toBe(2);
    expect(sent()).toBe(1);
  });

  test('that bankql refuses is not begun, and keeps its key', async () => {
    const { payments } = openPage();
    const wrong = { ...input, value: { amount: '0', currency: 'EUR' } };
    const refused = await payments.pay('draft', Transfer, { input: wrong });
    expect(refused).toMatchObject({ state: 'NOT_BEGUN', errors: [{ code: 'BAD_USER_INPUT' }] });
    const mended = await payments.pay('draft', Transfer, { input });
    expect(mended).toMatchObject({ state: 'DONE', idempotencyKey: refused.idempotencyKey });
    expect(sent()).toBe(1);
  });

  test('whose first request may still be on its way is not called unsent when a later one is refused', async () => {
    const { storage } = openPage();
    const late: (() => Promise<Response>)[] = [];
    const client = createClient({
      url: fixture.url,
      headers: credentials,
      async fetch(url, init) {
        if (!isPayment(String(init.body))) return fetch(url, init);
        if (late.push(() => fetch(url, init)) === 1) throw new TypeError('fetch failed');
        // A replica that does not have the app's document yet.
        const extensions = { code: 'PERSISTED_DOCUMENT_REQUIRED', retryable: false };
        return Response.json({ errors: [{ message: 'unknown', extensions }] }, { status: 400 });
      },
    });
    const outcome = await createPayments({ client, storage }).pay('draft', Transfer, { input });
    expect(outcome).toMatchObject({
      state: 'UNCONFIRMED',
      errors: [{ code: 'PERSISTED_DOCUMENT_REQUIRED' }],
    });
    await late[0]?.();
    expect(sent()).toBe(1);
  });

  test('is done where only its payload could not be read', async () => {
    fixture.bank.on('GET /v1/api/banks/BANK/accounts/ACC/owner', { status: 403, body: {} });
    const outcome = await openPage().payments.pay('draft', TransferAndRead, { input });
    expect(outcome).toMatchObject({
      state: 'DONE',
      data: { makeTransaction: { from: { account: null } } },
      errors: [{ path: ['makeTransaction', 'from', 'account'] }],
    });
  });

  test('may have been executed as long as nobody answers', async () => {
    const storage = createStorage();
    const down = openPage(() => 'answer', storage, { patienceMs: 100 });
    const outcome = await down.payments.pay('draft', Transfer, { input });
    expect(outcome).toMatchObject({ state: 'UNCONFIRMED', errors: [{ code: 'NETWORK_ERROR' }] });
    expect(await down.payments.check('draft')).toMatchObject({ state: 'UNCONFIRMED' });
    const up = openPage(undefined, storage).payments;
    expect(await up.check('draft')).toMatchObject({ state: 'DONE', idempotencyKey: outcome.idempotencyKey });
    expect(sent()).toBe(1);
  });
});

describe('the mutation `pay`', () => {
  test('is done if it has no user errors', async () => {
    const { payments } = openPage();
    const outcome = await payments.pay('draft', PayOnScreen, { input });
    expect(outcome).toMatchObject({
      state: 'DONE',
      errors: [],
      data: { pay: { payment: { state: 'DONE' } } },
    });
    expect(sent()).toBe(1);
  });

  test.each([
    ['REJECTED', 'BANK_REJECTED', { status: 422, body: { message: 'The limit is used up.' } }],
    ['UNKNOWN', 'OUTCOME_UNKNOWN', { status: 503, body: '' }],
    ['NOT_BEGUN', 'BAD_USER_INPUT', null],
  ] as const)('is %s if its user errors say so', async (state, code, reply) => {
    if (reply !== null) fixture.bank.on(line, reply);
    const { payments } = openPage();
    const wrong = reply === null ? { ...input, value: { amount: '0', currency: 'EUR' } } : input;
    const outcome = await payments.pay('draft', PayOnScreen, { input: wrong });
    expect(outcome).toMatchObject({ state, errors: [{ code, path: ['pay'] }] });
    expect(sent()).toBe(reply === null ? 0 : 1);
  });

  test('of another payment’s key is a conflict', async () => {
    const storage = createStorage();
    await openPage(undefined, storage).payments.pay('draft', PayOnScreen, { input });
    const outcome = await openPage(undefined, storage).payments.pay('draft', PayOnScreen, { input: other });
    expect(outcome).toMatchObject({ state: 'CONFLICT', errors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] });
    expect(sent()).toBe(1);
  });

  const unseen = [
    'pay(input: $input) { replayed }',
    'pay(input: $input) { replayed # userErrors\n }',
    'pay # money\n, (input: $input, description: "userErrors") { replayed }',
    'paid: pay(input: $input) { errs: userErrors { code } }',
    'pay(input: $input) { replayed ...F } } fragment F on PayPayload { errs : userErrors { code }',
  ];
  test.each(
    unseen.flatMap((fields) => {
      const text = `mutation ($input: PayInput!) { ${fields} }`;
      return [
        { fields, kind: 'text', document: text },
        { fields, kind: 'syntax tree', document: parse(text) as never },
      ];
    }),
  )('is not sent as a $kind that hides its failure: $fields', async ({ document }) => {
    const { payments, fetch } = openPage();
    await expect(payments.pay('draft', document, { input })).rejects.toThrow('userErrors');
    expect(fetch.bodies).toEqual([]);
  });

  test('is not done if the document left it out', async () => {
    const document = `mutation ($input: PayInput!, $isPaid: Boolean = false) {
      __typename pay(input: $input) @include(if: $isPaid) { userErrors { code } }
    }`;
    const { payments } = openPage(undefined, undefined, { patienceMs: 0 });
    expect(await payments.pay('draft', document, { input })).toMatchObject({ state: 'UNCONFIRMED' });
    expect(sent()).toBe(0);
  });

  test('that failed is not done if the document left its userErrors out', async () => {
    fixture.bank.on(line, { status: 422, body: { message: 'The limit is used up.' } });
    const document = `mutation ($input: PayInput!, $isSeen: Boolean = false) {
      pay(input: $input) { replayed userErrors @include(if: $isSeen) { code message retryable retryAfter } }
    }`;
    expect(await openPage().payments.pay('draft', document, { input })).toMatchObject({
      state: 'REJECTED',
      errors: [{ code: 'BANK_REJECTED' }],
    });
  });
});

test('a payment that is done, and that a later document cannot ask for, is not taken for another one', async () => {
  const storage = createStorage();
  const lost = openPage((body) => (isPayment(body) ? 'answer' : null), storage, { patienceMs: 0 });
  await lost.payments.pay('draft', Transfer, { input });
  const renamed =
    'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { notYetThere } }';
  const refused = await openPage(undefined, storage).payments.pay('draft', renamed, { input });
  expect(refused).toMatchObject({
    state: 'UNCONFIRMED',
    payment: { state: 'DONE' },
    errors: [{ code: 'GRAPHQL_VALIDATION_FAILED' }],
  });
  expect(await openPage(undefined, storage).payments.check('draft')).toMatchObject({ state: 'DONE' });
  expect(sent()).toBe(1);
});

test('a payment of which there is no record may still be on its way', async () => {
  const storage = createStorage();
  const down = openPage((body) => (isPayment(body) ? 'request' : null), storage, { patienceMs: 0 });
  await down.payments.pay('draft', Transfer, { input });
  expect(await openPage(undefined, storage).payments.check('draft')).toMatchObject({
    state: 'UNCONFIRMED',
    payment: null,
  });
});

describe('an intent whose key is another payment’s', () => {
  test('is a conflict too where another subscription key made it, and is not taken for one that never began', async () => {
    const storage = createStorage();
    await openPage(undefined, storage).payments.pay('draft', Transfer, { input });
    const { payments } = openPage(undefined, storage, {
      headers: { 'Ocp-Apim-Subscription-Key': 'renewed' },
    });
    expect(await payments.check('draft')).toMatchObject({ state: 'UNCONFIRMED', payment: null });
    expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
      state: 'CONFLICT',
      payment: null,
    });
    expect(sent()).toBe(1);
  });

  test.each<[string, (body: string) => Loss]>([
    ['', () => null],
    [
      ' and whose answer is lost once',
      (() => {
        let lost = false;
        return (body: string) => {
          if (lost || !isPayment(body)) return null;
          lost = true;
          return 'answer';
        };
      })(),
    ],
  ])('is a conflict, and nobody takes that one’s end for its own%s', async (_title, losses) => {
    const storage = createStorage();
    await openPage(undefined, storage).payments.pay('draft', Transfer, { input });
    const outcome: PaymentOutcome<unknown> = await openPage(losses, storage).payments.pay('draft', Transfer, {
      input: other,
    });
    expect(outcome).toMatchObject({
      state: 'CONFLICT',
      payment: { state: 'DONE', value: { amount: '12.50' } },
    });
    expect(sent()).toBe(1);
  });

  test('is paid under a new key where that one was refused', async () => {
    const storage = createStorage();
    fixture.bank.on(line, { status: 422, body: {} });
    await openPage(() => 'answer', storage, { patienceMs: 0 }).payments.pay('draft', Transfer, { input });
    fixture.bank.on(line, accepted);
    const paid = await openPage(undefined, storage).payments.pay('draft', Transfer, { input: other });
    expect(paid).toMatchObject({ state: 'DONE' });
    expect(sent()).toBe(2);
    expect(storage.items.get('bankql:payment:draft')).toBe(paid.idempotencyKey);
  });

  test('is not reported if the members of an input only have a different order', async () => {
    const { payments } = openPage();
    const reordered = Object.fromEntries(Object.entries(input).reverse()) as typeof input;
    const outcomes = await Promise.all([
      payments.pay('draft', Transfer, { input }),
      payments.pay('draft', Transfer, { input: reordered }),
    ]);
    expect(outcomes.map(({ state }) => state)).toEqual(['DONE', 'DONE']);
    expect(sent()).toBe(1);
  });

  test('is a conflict while that one is under way', async () => {
    const { payments } = openPage();
    const [first, second] = await Promise.all([
      payments.pay('draft', Transfer, { input }),
      payments.pay('draft', Transfer, { input: other }),
    ]);
    expect([first.state, second.state]).toEqual(['DONE', 'CONFLICT']);
    expect(second.idempotencyKey).toBe(first.idempotencyKey);
    expect(second.payment).toMatchObject({ state: 'DONE', value: { amount: '12.50' } });
    expect(sent()).toBe(1);
  });
});

test('nothing is sent where the key cannot be kept', async () => {
  const full = { ...createStorage(), setItem: () => Promise.reject(new Error('quota')) };
  const { payments, fetch } = openPage(undefined, full);
  await expect(payments.pay('draft', Transfer, { input })).rejects.toThrow('quota');
  expect(fetch.bodies).toEqual([]);
});

test('an abort ends the waiting, not the payment', async () => {
  const { arrived, release } = holdPayment();
  const { payments } = openPage();
  const leaving = new AbortController();
  const left = payments.pay('draft', Transfer, { input }, { signal: leaving.signal });
  await arrived;
  leaving.abort('left');
  await expect(left).rejects.toBe('left');
  release();
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'DONE' });
  expect(sent()).toBe(1);
});

test('an abort ends the waiting of the call that was given its signal, and of no other', async () => {
  const { arrived, release } = holdPayment();
  const { payments } = openPage();
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [first.signal, second.signal, undefined].map((signal) =>
    payments.pay('draft', Transfer, { input }, { signal }),
  );
  await arrived;
  first.abort('the first left');
  second.abort('the second left');
  await expect(calls[0]).rejects.toBe('the first left');
  await expect(calls[1]).rejects.toBe('the second left');
  release();
  expect(await calls[2]).toMatchObject({ state: 'DONE' });
  await expect(payments.pay('late', Transfer, { input }, { signal: first.signal })).rejects.toBe(
    'the first left',
  );
  expect(sent()).toBe(1);
});

describe('a document into which the key cannot go', () => {
  const texts = [
    'mutation ($key: String!) { makeTransaction(input: { accountId: "ACC", idempotencyKey: $key }) { trackId } }',
    'mutation { makeTransaction(input: { accountId: "ACC" }) { trackId } } # $input',
  ];
  test.each(
    texts.flatMap((text) => [
      { kind: 'text', text, document: text },
      { kind: 'syntax tree', text, document: parse(text) as never },
    ]),
  )('is not sent as a $kind: $text', async ({ document }) => {
    const { payments, fetch } = openPage();
    await expect(payments.pay('draft', document, { input })).rejects.toThrow('`input`');
    expect(fetch.bodies).toEqual([]);
  });

  test('is not sent without the variable’s value, and does not compile if it has no such variable', async () => {
    const { payments, fetch } = openPage();
    const OwnKey = graphql(`
      mutation ClientTransferOwnKey($key: String!) {
        makeTransaction(
          input: { accountId: "ACC", to: { accountId: "TO" }, value: { amount: "1", currency: "EUR" }, idempotencyKey: $key }
        ) { trackId }
      }
    `);
    // @ts-expect-error: the document has no variable `input`.
    await expect(payments.pay('draft', OwnKey, { key: 'mine' })).rejects.toThrow('`input`');
    // @ts-expect-error: its value is missing.
    await expect(payments.pay('draft', Transfer, {})).rejects.toThrow('`input`');
    expect(fetch.bodies).toEqual([]);
  });
});

test('an operation may be called `pay`', async () => {
  const document =
    'mutation pay($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }';
  expect(await openPage().payments.pay('draft', document, { input })).toMatchObject({ state: 'DONE' });
});

test('a payment of which bankql has no record, and says that its outcome is unknown, is unknown', async () => {
  const client = createClient({
    url: fixture.url,
    fetch: (_url, init) =>
      Promise.resolve(
        Response.json(
          isPayment(String(init.body))
            ? {
                data: { makeTransaction: null },
                errors: [
                  {
                    message: '',
                    path: ['makeTransaction'],
                    extensions: { code: 'OUTCOME_UNKNOWN', retryable: false },
                  },
                ],
              }
            : { data: { payment: null } },
        ),
      ),
  });
  const payments = createPayments({ client, storage: createStorage() });
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'UNKNOWN' });
});

test('a token that cannot be renewed after the payment was sent leaves it unconfirmed', async () => {
  let asked = 0;
  const client = createClient({
    url: fixture.url,
    async headers() {
      if (asked++ > 0) throw new Error('offline');
      return credentials;
    },
    fetch: lossyFetch(() => 'answer'),
    retries: 0,
  });
  const payments = createPayments({ client, storage: createStorage(), patienceMs: 0 });
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'UNCONFIRMED' });
  expect(asked).toBe(2);
  expect(sent()).toBe(1);
});

test('`pay` reports a refusal even if the storage cannot remove the key', async () => {
  fixture.bank.on(line, { status: 422, body: { message: 'The limit is used up.' } });
  const stuck = { ...createStorage(), removeItem: () => Promise.reject(new Error('locked')) };
  const { payments } = openPage(undefined, stuck);
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'REJECTED' });
  await expect(payments.forget('draft')).rejects.toThrow('locked');
});

test('two pages with one storage make one key, and one payment', async () => {
  const storage = createStorage();
  const outcomes = await Promise.all(
    [1, 2].map(() => openPage(undefined, storage).payments.pay('draft', Transfer, { input })),
  );
  expect(outcomes.map(({ state }) => state)).toEqual(['DONE', 'DONE']);
  expect(new Set(outcomes.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect(sent()).toBe(1);
});

describe('without locks', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', {});
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  /** A storage as React Native has it: each call takes a turn of the event loop. */
  function createSlowStorage() {
    const storage = createStorage();
    const later = <Result>(run: () => Result) =>
      new Promise<Result>((done) => setImmediate(() => done(run())));
    return {
      items: storage.items,
      getItem: (name: string) => later(() => storage.getItem(name)),
      setItem: (name: string, value: string) => later(() => storage.setItem(name, value)),
      removeItem: (name: string) => later(() => storage.removeItem(name)),
    };
  }

  /** Pays each of 40 drafts on two screens at once; eight at a time, so that the server has room for them. */
  async function payOnTwoScreens(open: (screen: number, storage: KeyStorage) => Payments) {
    const storage = createSlowStorage();
    const screens = [0, 1].map((screen) => open(screen, storage));
    const payDraft = async (draft: number) => {
      const outcomes = await Promise.all(
        screens.map((payments) => payments.pay(`draft ${draft}`, Transfer, { input })),
      );
      return outcomes.map(({ state, idempotencyKey }) => ({ state, idempotencyKey }));
    };
    const paid: Awaited<ReturnType<typeof payDraft>>[] = [];
    for (let first = 0; first < 40; first += 8)
      paid.push(...(await Promise.all(Array.from({ length: 8 }, (_, n) => payDraft(first + n)))));
    return paid;
  }

  const keysOf = (outcomes: readonly { readonly idempotencyKey: string }[]) =>
    new Set(outcomes.map(({ idempotencyKey }) => idempotencyKey)).size;

  test('two screens of an app with one storage pay each of 40 drafts once', async () => {
    const paid = await payOnTwoScreens((_, storage) => openPage(undefined, storage).payments);
    expect(paid.map(keysOf)).toEqual(Array(40).fill(1));
    expect(paid.flat().map(({ state }) => state)).toEqual(Array(80).fill('DONE'));
    expect(sent()).toBe(40);
  });

  test('two storages that wrap the same one do too', async () => {
    const paid = await payOnTwoScreens((_, storage) => openPage(undefined, { ...storage }).payments);
    expect(paid.map(keysOf)).toEqual(Array(40).fill(1));
    expect(sent()).toBe(40);
  });

  test('two tabs that begin together use the key that was written last', async () => {
    // Modules of their own, as two tabs have.
    const openTab = (tab: number): Promise<{ createPayments: typeof createPayments }> =>
      import(/* @vite-ignore */ `../../src/client/payments.ts?tab=${tab}`);
    const tabs = await Promise.all([0, 1].map(async (tab) => (await openTab(tab)).createPayments));
    expect(tabs[0]).not.toBe(tabs[1]);
    const client = createClient({ url: fixture.url, headers: credentials, retries: 0 });
    const paid = await payOnTwoScreens(
      (tab, storage) => tabs[tab]?.({ client, storage }) ?? expect.unreachable(),
    );
    expect(paid.map(keysOf)).toEqual(Array(40).fill(1));
    expect(sent()).toBe(40);
  });

  test('nothing is sent with a key that the storage did not keep', async () => {
    const { payments, fetch } = openPage(undefined, { ...createStorage(), setItem: () => undefined });
    await expect(payments.pay('draft', Transfer, { input })).rejects.toThrow('did not keep the key');
    expect(fetch.bodies).toEqual([]);
  });
});

describe('without crypto.randomUUID', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test.each([[{}], [undefined]])('it says so when it is created: crypto is %o', (crypto) => {
    vi.stubGlobal('crypto', crypto);
    vi.stubGlobal('navigator', {});
    expect(() => openPage()).toThrow('the option randomUUID');
  });

  test('it takes the one it is given', async () => {
    vi.stubGlobal('crypto', {});
    const { payments } = openPage(undefined, undefined, { randomUUID: () => 'a key of its own' });
    expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
      state: 'DONE',
      idempotencyKey: 'a key of its own',
    });
    expect(fixture.bank.calls).toHaveLength(1);
  });
});
