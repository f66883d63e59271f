import { readFileSync } from 'node:fs';
import { parse } from 'graphql';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  createPayments,
  fetchSend,
  type KeyStorage,
  type Payments,
  type PaymentsOptions,
  paymentQuery,
} from '../../src/client/index.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { type Loss, lossyFetch } from '../support/lossy-fetch.ts';
import { shareServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

const Transfer = graphql(`
  mutation ClientTransfer($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      replayed payment { state trackId transactionId } userErrors { code message retryAfter }
    }
  }
`);
/** With this document, failures are errors of the operation. */
const Bare = 'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }';
const StateOnly =
  'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { payment { state } } }';
const ErrorsOnly =
  'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { userErrors { code } } }';
/** Nothing in the answer to this document shows how the payment ended, and no field fails. */
const Aliased =
  'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { userProblems: userErrors { code } } }';
const documents = { Transfer: String(Transfer), Bare, StateOnly, ErrorsOnly, Aliased };

const line = 'POST /v1/api/banks/BANK/accounts/ACC/make-transaction';
const input = { accountId: 'ACC', to: { accountId: 'TO' }, value: { amount: '12.50', currency: 'EUR' } };
const other = { ...input, value: { amount: '99.00', currency: 'EUR' } };
const invalid = { ...input, value: { amount: '0', currency: 'EUR' } };
const accepted = { status: 201, body: { id: 'TX', status: 'COMPLETED' } };
const refusal = { status: 422, body: { message: 'Insufficient funds' } };

// The time limit is so long that the bank's answers are in time even on a busy machine.
const milliseconds = 60_000;
const fixture = await shareServerFixture({
  bankOptions: { timeoutMs: milliseconds, paymentTimeoutMs: milliseconds, connectTimeoutMs: milliseconds },
});
beforeEach(() => void fixture.bank.on(line, accepted));
afterEach(() => {
  vi.unstubAllGlobals();
});

/** The storage of a browser, which survives a reload. */
function createStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => items.set(name, value),
    removeItem: (name: string) => items.delete(name),
  };
}

/** A page of an app. A reload creates another page with the same storage. */
function openPage(
  losses?: (body: string, nth: number) => Loss,
  storage: KeyStorage & { readonly items?: Map<string, string> } = createStorage(),
  { headers = {}, ...more }: Partial<PaymentsOptions> & { readonly headers?: Record<string, string> } = {},
) {
  const fetch = lossyFetch(losses);
  const send = fetchSend(fixture.url, { headers: { ...credentials, ...headers }, fetch });
  return { payments: createPayments({ send, storage, ...more }), fetch, storage };
}

/**
 * A page whose server gives these answers to the mutation in turn, and then repeats the last one. The server has no record of the
 * payment.
 */
function openScript(...answers: (() => unknown)[]) {
  const sent: unknown[] = [];
  const payments = createPayments({
    storage: createStorage(),
    async send(document, variables) {
      if (document === paymentQuery) return { data: { payment: null } };
      sent.push(variables);
      return (answers.length > 1 ? answers.shift() : answers[0])?.();
    },
  });
  return { payments, sent };
}
const refused = (code: string, more = {}) => ({
  data: { makeTransaction: null },
  errors: [{ message: code, path: ['makeTransaction'], extensions: { code, ...more } }],
});
const done = { data: { makeTransaction: { payment: { state: 'DONE' }, userErrors: [] } } };
const lost = () => {
  throw new TypeError('fetch failed');
};

/** The bank accepts the payment when `release` is called. `arrived` resolves when the payment has reached the bank. */
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
    expectTypeOf(outcome.data?.makeTransaction?.replayed).toEqualTypeOf<boolean | undefined>();
    // @ts-expect-error: the client makes the key.
    void (() => payments.pay('draft', Transfer, { input: { ...input, idempotencyKey: 'mine' } }));
    expect(outcome).toMatchObject({
      state: 'DONE',
      idempotencyKey: expect.stringMatching(/^[\da-f]{32}$/),
      data: { makeTransaction: { replayed: false } },
      payment: { state: 'DONE', transactionId: 'TX', trackId: fixture.bank.calls[0]?.headers['track-id'] },
      errors: [],
    });
    expect(sent()).toBe(1);
  });

  test('is made once for a double tap, and for a tap after its end', async () => {
    const { payments, fetch } = openPage();
    const [first, second] = await Promise.all([
      payments.pay('draft', Transfer, { input }),
      payments.pay('draft', Transfer, { input }),
    ]);
    expect(second).toBe(first);
    expect(fetch.bodies).toHaveLength(1);
    const third = await payments.pay('draft', Transfer, { input });
    expect(third).toMatchObject({ state: 'DONE', data: { makeTransaction: { replayed: true } } });
    expect(sent()).toBe(1);
  });

  test('is a new one after `forget`', async () => {
    const { payments, storage } = openPage();
    await payments.pay('draft', Transfer, { input });
    await payments.forget('draft');
    expect(storage.items?.size).toBe(0);
    await payments.pay('draft', Transfer, { input });
    expect(sent()).toBe(2);
  });

  test('is made once by the example of docs/clients.md, although the second tap of two is late', async () => {
    const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
    const [example] =
      /^const \{.*payments\.pay\(draft\.id[\s\S]*?(?=^```)/m.exec(page) ?? expect.unreachable();
    const names = ['payments', 'draft', 'Transfer', 'input', 'show'];
    const tap = new Function(...names, `return (async () => {${example}})()`);
    const { payments } = openPage();
    for (const _ of ['first', 'second'])
      await tap(payments, { id: 'draft' }, String(Transfer), input, () => {});
    expect(sent()).toBe(1);
  });

  test.each(['request', 'answer'] as const)(
    'whose %s is lost is made once, and its end is found',
    async (loss) => {
      let count = 0;
      const { payments } = openPage((body) => (isPayment(body) && count++ < 2 ? loss : null));
      expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
        state: 'DONE',
        payment: { transactionId: 'TX' },
        errors: [],
      });
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
    expect(await again).toMatchObject({ state: 'DONE', data: { makeTransaction: { replayed: true } } });
    expect(await reloaded.check('draft')).toMatchObject({
      state: 'DONE',
      payment: { transactionId: 'TX', value: { amount: '12.50' } },
    });
    expect(sent()).toBe(1);
  });

  test('that is still in progress when the patience is over is pending', async () => {
    const { arrived, release } = holdPayment();
    const storage = createStorage();
    const first = openPage(undefined, storage).payments.pay('draft', Transfer, { input });
    await arrived;
    const impatient = openPage(undefined, storage, { patienceMs: 0 }).payments;
    expect(await impatient.pay('draft', Transfer, { input })).toMatchObject({
      state: 'PENDING',
      payment: { state: 'PENDING' },
      errors: [{ code: 'IDEMPOTENCY_IN_PROGRESS' }],
    });
    release();
    await first;
    expect(sent()).toBe(1);
  });

  test('is done where only a field of its answer could not be read', async () => {
    const document =
      'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { payment { state account { label } } } }';
    expect(await openPage().payments.pay('draft', document, { input })).toMatchObject({
      state: 'DONE',
      data: { makeTransaction: { payment: { account: null } } },
      errors: [{ path: ['makeTransaction', 'payment', 'account'] }],
    });
  });
});

describe.each(Object.entries(documents))('with the document %s', (name, document) => {
  /**
   * Whether the document's answer says that a payment is done. If not, only the record says it, and the record of an older
   * key may be another payment's.
   */
  const showsEnd = name !== 'Bare' && name !== 'Aliased';

  test.each([null, 'request', 'answer'] as const)(
    'one of which the %s is lost twice is made once, under one key, also after a reload',
    async (loss) => {
      const storage = createStorage();
      const page = openPage((body, nth) => (isPayment(body) && nth < 2 ? loss : null), storage);
      expect(await page.payments.pay('draft', document, { input })).toMatchObject({
        state: 'DONE',
        errors: [],
      });
      const reloaded = openPage(undefined, storage);
      expect(await reloaded.payments.pay('draft', document, { input })).toMatchObject({
        state: showsEnd ? 'DONE' : 'UNCONFIRMED',
        payment: { state: 'DONE' },
      });
      expect(await reloaded.payments.check('draft')).toMatchObject({ state: 'DONE' });
      const keys = [...page.fetch.bodies, ...reloaded.fetch.bodies].flatMap(
        ({ variables }) => Object(variables?.input).idempotencyKey ?? variables?.idempotencyKey,
      );
      expect(keys.length).toBeGreaterThan(loss === null ? 2 : 4);
      expect(new Set(keys).size).toBe(1);
      expect(sent()).toBe(1);
    },
  );

  test('one of unknown outcome is told as such with its Track-ID, and never sent again', async () => {
    fixture.bank.on(line, { status: 503, body: '' });
    const { payments } = openPage();
    for (let call = 0; call < 2; call++)
      expect(await payments.pay('draft', document, { input })).toMatchObject({
        state: 'UNKNOWN',
        ...(name === 'StateOnly' ? {} : { payment: { trackId: fixture.bank.calls[0]?.headers['track-id'] } }),
      });
    expect(await payments.check('draft')).toMatchObject({ state: 'UNKNOWN' });
    expect(sent()).toBe(1);
  });

  test('one that the bank refuses is rejected, and the next one has a new key', async () => {
    fixture.bank.on(line, refusal);
    const { payments, storage } = openPage((body, nth) => (isPayment(body) && nth === 0 ? 'answer' : null));
    const rejected = await payments.pay('draft', document, { input });
    expect(rejected.state).toBe('REJECTED');
    expect(sent()).toBe(1);
    expect(storage.items?.size).toBe(0);
    fixture.bank.on(line, accepted);
    const paid = await payments.pay('draft', document, { input });
    expect(paid.state).toBe('DONE');
    expect(paid.idempotencyKey).not.toBe(rejected.idempotencyKey);
  });

  test('one that bankql refuses is not sent and keeps its key; nobody takes it for done', async () => {
    const { payments } = openPage();
    const outcome = await payments.pay('draft', document, { input: invalid });
    // If no error can be read, something may have been sent.
    expect(outcome.state).toBe(name === 'Aliased' ? 'UNCONFIRMED' : 'NOT_SENT');
    expect(await payments.pay('draft', document, { input })).toMatchObject({
      state: showsEnd ? 'DONE' : 'UNCONFIRMED',
      idempotencyKey: outcome.idempotencyKey,
    });
    expect(sent()).toBe(1);
  });

  test('one over the limit of a gateway is sent again with its key, and done', async () => {
    const limit = {
      status: 429,
      body: { message: 'API rate limit exceeded' },
      headers: { 'Retry-After': '0' },
    };
    fixture.bank.on(line, () => (sent() === 1 ? limit : accepted));
    const { payments } = openPage();
    const outcome = await payments.pay('draft', document, { input });
    const isTold = name !== 'Aliased';
    expect(outcome.state).toBe(isTold ? 'DONE' : 'UNCONFIRMED');
    expect(sent()).toBe(isTold ? 2 : 1);
    expect(await payments.pay('draft', document, { input })).toMatchObject({
      state: showsEnd ? 'DONE' : 'UNCONFIRMED',
      idempotencyKey: outcome.idempotencyKey,
    });
    expect(sent()).toBe(2);
  });

  test('one whose caller the bank does not know is not sent, and keeps its key', async () => {
    fixture.bank.on(line, { status: 401, body: {} });
    const { payments } = openPage();
    const outcome = await payments.pay('draft', document, { input });
    expect(outcome.state).toBe(name === 'Aliased' ? 'UNCONFIRMED' : 'NOT_SENT');
    if (name !== 'Aliased') expect(outcome.errors).toMatchObject([{ code: 'UNAUTHENTICATED' }]);
    fixture.bank.on(line, accepted);
    const { idempotencyKey } = await payments.pay('draft', document, { input });
    expect(idempotencyKey).toBe(outcome.idempotencyKey);
    expect(sent()).toBe(2);
  });

  test.each<[string, (body: string, nth: number) => Loss]>([
    ['', () => null],
    [' whose answer is lost once', (body, nth) => (isPayment(body) && nth === 0 ? 'answer' : null)],
  ])('one with the key of another payment%s takes nothing for its own end', async (_title, losses) => {
    const storage = createStorage();
    await openPage(undefined, storage).payments.pay('draft', document, { input });
    expect(await openPage(losses, storage).payments.pay('draft', document, { input: other })).toMatchObject({
      state: name === 'Aliased' ? 'UNCONFIRMED' : 'CONFLICT',
      payment: { state: 'DONE', value: { amount: '12.50' } },
    });
    expect(sent()).toBe(1);
  });
});

describe('a payment while nobody answers', () => {
  test('may have been executed; its outcome can be found by the key later', async () => {
    const storage = createStorage();
    const down = openPage(() => 'answer', storage, { patienceMs: 0 }).payments;
    const outcome = await down.pay('draft', Transfer, { input });
    expect(outcome).toMatchObject({
      state: 'UNCONFIRMED',
      payment: null,
      errors: [{ code: 'NETWORK_ERROR' }, {}],
    });
    expect(await down.check('draft')).toMatchObject({ state: 'UNCONFIRMED' });
    const up = openPage(undefined, storage).payments;
    expect(await up.check('draft')).toMatchObject({ state: 'DONE', idempotencyKey: outcome.idempotencyKey });
    expect(sent()).toBe(1);
  });

  test('may still be on its way, also if there is no record', async () => {
    const storage = createStorage();
    const down = openPage((body) => (isPayment(body) ? 'request' : null), storage, { patienceMs: 0 });
    expect(await down.payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'UNCONFIRMED' });
    const reloaded = openPage(undefined, storage).payments;
    expect(await reloaded.check('draft')).toMatchObject({ state: 'UNCONFIRMED', payment: null });
    // The refusal of a later request says nothing about the first one.
    expect(await reloaded.pay('draft', Transfer, { input: invalid })).toMatchObject({
      state: 'UNCONFIRMED',
      errors: [{ code: 'BAD_USER_INPUT' }],
    });
  });

  test.each([
    ['a lost answer', lost],
    ['an empty answer', () => undefined],
    ['a proxy', () => ({ errors: [{ message: 'no', extensions: { code: 'BAD_RESPONSE', status: 502 } }] })],
    ['a gateway', () => refused('DOWNSTREAM_SERVICE_ERROR')],
    ['an error without a code', () => ({ errors: [{ message: 'no' }] })],
  ])('is not called unsent if a later attempt is refused after %s', async (_what, first) => {
    const { payments, sent } = openScript(first, () => refused('PERSISTED_DOCUMENT_REQUIRED'));
    expect(await payments.pay('draft', Bare, { input })).toMatchObject({
      state: 'UNCONFIRMED',
      errors: [{ code: 'PERSISTED_DOCUMENT_REQUIRED' }],
    });
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
  });

  test('waits for one answer no longer than `timeoutMs`', async () => {
    const payments = createPayments({
      storage: createStorage(),
      send: () => new Promise(() => {}),
      timeoutMs: 1,
      patienceMs: 0,
    });
    expect(await payments.pay('draft', Bare, { input })).toMatchObject({
      state: 'UNCONFIRMED',
      errors: [{ code: 'NETWORK_ERROR', message: 'No answer came within 1 ms.' }, { code: 'NETWORK_ERROR' }],
    });
  });

  test.each([
    ['without `payment { state }` and `userErrors`', { makeTransaction: { replayed: false } }],
    ['of two mutations', { other: { userErrors: [] }, makeTransaction: { payment: { state: 'PENDING' } } }],
  ])('is not done by an answer %s alone', async (_what, data) => {
    const { payments, sent } = openScript(() => ({ data }));
    expect(await payments.pay('draft', Bare, { input })).toMatchObject({ state: 'UNCONFIRMED' });
    expect(await payments.check('draft')).toMatchObject({ state: 'UNCONFIRMED' });
    expect(sent).toHaveLength(1);
  });

  test('is UNKNOWN, or in the state that an error gives, without a record', async () => {
    const unknown = openScript(() => refused('OUTCOME_UNKNOWN')).payments;
    expect(await unknown.pay('draft', Bare, { input })).toMatchObject({ state: 'UNKNOWN' });
    const tooLarge = createPayments({
      storage: createStorage(),
      send: async (_document, { input }) =>
        refused('LIMIT_EXCEEDED', { state: 'DONE', idempotencyKey: Object(input).idempotencyKey }),
    });
    expect(await tooLarge.pay('draft', Bare, { input })).toMatchObject({ state: 'DONE' });
  });
});

describe('a payment that was refused for the moment is sent again with the same key', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-11-06T08:49:30Z') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const page = (status: number, retryAfter?: string) => () =>
    new Response('busy', { status, headers: retryAfter === undefined ? {} : { 'Retry-After': retryAfter } });
  const error = (retryAfter: number) => () =>
    Response.json({ errors: [{ message: 'later', extensions: { code: 'OVERLOADED', retryAfter } }] });

  test.each<[string, () => Response, number, number]>([
    ['a proxy that says no time', page(503), 0, 250],
    ['seconds', page(429, '7'), 7000, 7000],
    ['a date', page(503, 'Fri, 06 Nov 2026 08:49:37 GMT'), 0, 250],
    ['a time that cannot be read', page(503, '0x10'), 0, 250],
    ['a time of bankql’s', error(7), 7000, 7000],
    ['a negative time', error(-7), 0, 250],
  ])('after %s, as late as it says', async (_what, busy, least, most) => {
    const answers = [busy(), Response.json(done)];
    const times: number[] = [];
    const fetch = async () => {
      times.push(Date.now());
      return answers.shift() ?? expect.unreachable();
    };
    const payments = createPayments({
      storage: createStorage(),
      send: fetchSend('http://bankql.test', { fetch }),
    });
    const paid = payments.pay('draft', Bare, { input });
    await vi.runAllTimersAsync();
    expect((await paid).state).toBe('DONE');
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(least);
    expect(second - first).toBeLessThanOrEqual(most);
  });

  test('but no longer than its patience, although the clock of the phone is set back', async () => {
    const { payments, sent } = openScript(() => {
      vi.setSystemTime(Date.now() - 3_600_000);
      return refused('OVERLOADED', { retryAfter: 7 });
    });
    const paid = payments.pay('draft', Bare, { input });
    await vi.runAllTimersAsync();
    expect(await paid).toMatchObject({ state: 'NOT_SENT' });
    // `pay` repeats the request for 30 s.
    expect(sent).toHaveLength(5);
  });

  test('but no longer than its patience: the app is told', async () => {
    const { payments, sent } = openScript(() => refused('OVERLOADED', { retryAfter: 3600 }));
    const paid = payments.pay('draft', Bare, { input });
    await vi.runAllTimersAsync();
    expect(await paid).toMatchObject({
      state: 'NOT_SENT',
      errors: [{ code: 'OVERLOADED', retryAfter: 3600 }],
    });
    expect(sent).toHaveLength(1);
  });
});

describe('an intent whose key is another payment’s', () => {
  test('is a conflict too where another subscription key made it, and is not taken for one that never began', async () => {
    const storage = createStorage();
    await openPage(undefined, storage).payments.pay('draft', Transfer, { input });
    const headers = { 'Ocp-Apim-Subscription-Key': 'renewed' };
    const { payments } = openPage(undefined, storage, { headers });
    expect(await payments.check('draft')).toMatchObject({ state: 'UNCONFIRMED', payment: null });
    expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
      state: 'CONFLICT',
      payment: null,
    });
    expect(sent()).toBe(1);
  });

  test('that was refused is told as such, and the next one is paid under a new key', async () => {
    const storage = createStorage();
    fixture.bank.on(line, refusal);
    await openPage(() => 'answer', storage, { patienceMs: 0 }).payments.pay('draft', Transfer, { input });
    fixture.bank.on(line, accepted);
    const { payments } = openPage(undefined, storage);
    expect(await payments.pay('draft', Transfer, { input: other })).toMatchObject({
      state: 'REJECTED',
      payment: { value: { amount: '12.50' } },
      errors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }],
    });
    expect(await payments.pay('draft', Transfer, { input: other })).toMatchObject({ state: 'DONE' });
    expect(sent()).toBe(2);
  });

  test('is a conflict while that one is under way, and none if the members only have another order', async () => {
    const { payments } = openPage();
    const reordered = Object.fromEntries(Object.entries(input).reverse()) as typeof input;
    const outcomes = await Promise.all(
      [input, reordered, other].map((each) => payments.pay('draft', Transfer, { input: each })),
    );
    expect(outcomes.map(({ state }) => state)).toEqual(['DONE', 'DONE', 'CONFLICT']);
    expect(sent()).toBe(1);
  });
});

test('a storage that answers a missing key with an empty text has no key', async () => {
  const storage = createStorage();
  const { payments } = openPage(undefined, {
    ...storage,
    getItem: (name: string) => storage.getItem(name) ?? '',
  });
  expect(await payments.check('draft')).toBeNull();
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({
    state: 'DONE',
    idempotencyKey: expect.stringMatching(/^[\da-f]{32}$/),
  });
  expect(sent()).toBe(1);
});

describe('the client sends nothing', () => {
  test.each([
    ['cannot be kept', { setItem: () => Promise.reject(new Error('quota')) }, 'quota'],
    ['is not kept', { setItem: () => undefined }, 'did not keep the key'],
    ['cannot be read', { getItem: () => Promise.reject(new Error('locked')) }, 'locked'],
  ])('where the key %s', async (_what, broken, message) => {
    const { payments, fetch } = openPage(undefined, { ...createStorage(), ...broken });
    await expect(payments.pay('draft', Transfer, { input })).rejects.toThrow(message);
    expect(fetch.bodies).toEqual([]);
  });

  const inline = 'mutation ($key: String!) { makeTransaction(input: { idempotencyKey: $key }) { replayed } }';
  test.each([
    ['a text', inline],
    ['a syntax tree', parse(inline)],
  ])('of a document into which the key cannot go: %s', async (_kind, document) => {
    const { payments, fetch } = openPage();
    await expect(payments.pay('draft', document as string, { input })).rejects.toThrow('`input`');
    expect(fetch.bodies).toEqual([]);
  });

  test('if the signal was aborted before; later, an abort ends the waiting of its own call, not the payment', async () => {
    const { arrived, release } = holdPayment();
    const { payments } = openPage();
    const [first, second] = [new AbortController(), new AbortController()];
    const pay = (signal?: AbortSignal) => payments.pay('draft', Transfer, { input }, { signal });
    const calls = [pay(first.signal), pay(second.signal), pay()];
    await arrived;
    first.abort('the first left');
    // Signals have no reason in React Native.
    Object.defineProperty(second.signal, 'reason', { value: undefined });
    second.abort();
    await expect(calls[0]).rejects.toBe('the first left');
    await expect(calls[1]).rejects.toMatchObject({ name: 'AbortError' });
    release();
    expect(await calls[2]).toMatchObject({ state: 'DONE' });
    await expect(payments.pay('late', Transfer, { input }, { signal: first.signal })).rejects.toBe(
      'the first left',
    );
    expect(sent()).toBe(1);
  });
});

test('a refusal is reported even if the storage cannot remove the key', async () => {
  fixture.bank.on(line, refusal);
  const stuck = { ...createStorage(), removeItem: () => Promise.reject(new Error('locked')) };
  const { payments } = openPage(undefined, stuck);
  expect(await payments.pay('draft', Transfer, { input })).toMatchObject({ state: 'REJECTED' });
  await expect(payments.forget('draft')).rejects.toThrow('locked');
});

describe('two pages with one storage', () => {
  /** A storage like React Native's: each call takes an iteration of the event loop. */
  function createSlowStorage() {
    const { getItem, setItem, removeItem } = createStorage();
    const later = <Result>(run: () => Result) => new Promise<Result>((end) => setImmediate(() => end(run())));
    return {
      getItem: (name: string) => later(() => getItem(name)),
      setItem: (name: string, value: string) => later(() => setItem(name, value)),
      removeItem: (name: string) => later(() => removeItem(name)),
    };
  }

  /** Each tab has its own modules. */
  const openTab = async (tab: number): Promise<typeof createPayments> =>
    (await import(/* @vite-ignore */ `../../src/client/payments.ts?tab=${tab}`)).createPayments;

  type Open = (page: number, storage: KeyStorage) => Payments | Promise<Payments>;
  const send: PaymentsOptions['send'] = (document, variables) =>
    fetchSend(fixture.url, { headers: credentials })(String(document), variables);
  test.each<[string, boolean, Open]>([
    ['two tabs with locks', true, async (page, storage) => (await openTab(page))({ send, storage })],
    ['two tabs without locks', false, async (page, storage) => (await openTab(page))({ send, storage })],
    ['two screens of one app', false, (_page, storage) => createPayments({ send, storage })],
    [
      'storages that wrap the same one',
      false,
      (_page, storage) => createPayments({ send, storage: { ...storage } }),
    ],
  ])('make one key for each of 8 drafts: %s', async (_what, hasLocks, open) => {
    if (!hasLocks) vi.stubGlobal('navigator', {});
    const storage = createSlowStorage();
    const pages = await Promise.all([0, 1].map((page) => open(page, storage)));
    const payDraft = async (draft: number) => {
      const paid = await Promise.all(
        pages.map((payments) => payments.pay(`draft ${draft}`, Transfer, { input })),
      );
      return new Set(paid.map(({ state, idempotencyKey }) => `${state} ${idempotencyKey}`)).size;
    };
    const counts = await Promise.all(Array.from({ length: 8 }, (_, n) => payDraft(n)));
    expect(counts).toEqual(Array(8).fill(1));
    expect(sent()).toBe(8);
  });
});

describe('on a platform without crypto', () => {
  beforeEach(() => {
    vi.stubGlobal('crypto', undefined);
  });

  test('the client uses the given keys, and needs no other new feature of the platform', async () => {
    for (const name of ['navigator', 'structuredClone', 'DOMException']) vi.stubGlobal(name, undefined);
    const send = async () => done;
    const payments = createPayments({ storage: createStorage(), send, randomId: () => 'a key of its own' });
    expect(await payments.pay('draft', Bare, { input })).toMatchObject({
      state: 'DONE',
      idempotencyKey: 'a key of its own',
    });
  });
});
