import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { classifyPaymentResponse } from '../../src/payments/classify-response.ts';
import { bankWordsOf, defaultRejectedStatuses, noBankWords } from '../../src/payments/outcome-words.ts';
import { readStoredResponse } from '../../src/payments/stored-response.ts';

const transfer = operations.postMakeTransaction;
const request = operations.putTransactionsRequestAccount;
const secret = 'the-subscription-key';
/** What was sent, as far as an answer may say it again. */
const sent = {
  toBankId: 'BK1',
  toAccountId: 'x',
  currency: 'EUR',
  amount: '5.00',
  description: 'Was already paid in part',
};

function classify(
  status: number,
  body: string | Buffer,
  operation: typeof transfer | typeof request = transfer,
  rejectedStatuses: ReadonlySet<number> = defaultRejectedStatuses,
  bankWords = noBankWords,
  headers: Readonly<Record<string, string>> = { 'content-length': String(Buffer.byteLength(body)) },
) {
  return classifyPaymentResponse(
    { status, headers, body: Buffer.from(body) },
    { operation, rejectedStatuses, bankWords, sent, secrets: [secret] },
  );
}

const page = readFileSync(join(import.meta.dirname, '../../docs/payment-operations.md'), 'utf8');
const [, section = ''] = page.split("## What the bank's answer means");
/** The words of the page, by their meaning. */
const wordsByMeaning = new Map(
  [...section.matchAll(/^\| (success|pending|failure) \| ([^|]+) \|/gm)].map(
    ([, meaning = '', words = '']) => [meaning, words.split(', ')],
  ),
);

const json = fc.jsonValue().map((value) => JSON.stringify(value));
const caseOf = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.toLowerCase(),
  (text: string) => text.toUpperCase(),
);
/** A documented word with this meaning, in any case. */
const wordFor = (meaning: string) =>
  fc
    .tuple(fc.constantFrom(...(wordsByMeaning.get(meaning) ?? [])), caseOf)
    .map(([word, change]) => change(word));
/** Words that no table has. */
const otherWords = fc.constantFrom('KO', 'Please log in', 'BLCK', 'Try again later', 'on its way', 'S');
const statusNames = fc.constantFrom(
  'status',
  'State',
  'RESULT',
  'outcome',
  'transactionStatus',
  'payment_status',
);
/** A word as a status: bare, as a JSON string, or in a member. `more`: other members. */
const statusIs = (word: fc.Arbitrary<string>, more: fc.Arbitrary<object> = fc.constant({})) =>
  fc
    .tuple(word, statusNames, more)
    .chain(([word, name, more]) =>
      fc.constantFrom(word, JSON.stringify(word), JSON.stringify({ ...more, [name]: ` ${word} ` })),
    );
const members = (...objects: readonly object[]) =>
  fc.constantFrom(...objects.map((one) => JSON.stringify(one)));
const plain = (minLength: number, maxLength: number) =>
  fc.stringMatching(new RegExp(`^[A-Za-zé][A-Za-z0-9é ]{${minLength},${maxLength}}$`));
const anything = fc.oneof(json, plain(0, 200), fc.constant(''), fc.constant('<html>No</html>'));
const success = fc.integer({ min: 200, max: 299 }).filter((status) => status !== 206);
const done = success.filter((status) => status !== 202);
const named = fc.constantFrom(400, 402, 403, 404, 405, 413, 415, 422, 429);
const failures = [
  { id: 'TX', transactions: [{ status: 'RJCT' }] },
  { cardStatus: 'CANCELLED' },
  { status: 'PaymentFailed' },
  { id: 'TX', error: 'no' },
  { id: 'TX', errorCode: 'E17' },
  { id: 'TX', error_description: 'no' },
  { id: 'TX', code: 'LIMIT' },
  { id: 'TX', code: 400 },
  { id: 'TX', details: { code: 403 } },
  { id: 'TX', status: 422 },
  { success: false },
  { id: 'TX', accepted: false },
  { id: 'TX', rejected: true },
  { id: 'TX', expired: true },
  { id: 'TX', status: { code: 'FAILED' } },
  { id: 'TX', status: { value: 'RJCT', description: 'Refused' } },
  { id: 'TX', state: { status: { name: 'Rejected' } } },
  { id: 'TX', status: { code: 400 } },
  { id: 'TX', result: false },
  { id: 'TX', status: false },
  { id: 'TX', success: 'N' },
  { id: 'TX', booked: false },
  { id: 'TX', authorised: false },
  { id: 'TX', reject_reason: 'AML' },
  { id: 'TX', declineCode: '51' },
];
const contradictions = [
  { status: 'BOOKED', state: 'NOT REJECTED' },
  { status: 'COMPLETED', transactionStatus: 'RJCT' },
  { status: 'OK', error: { code: 7 } },
  { status: 'OK', errors: ['no'] },
  { status: 'success', code: '51' },
  { status: 'OK', data: { approved: 'no' } },
  { status: 'success', message: 'Insufficient funds' },
];
const signsOfFailure = members(...failures, ...contradictions);
/** Of an execution, a repetition, or a failure behind the bank. */
const mentions = [
  { code: 400, message: 'Duplicate request: already executed' },
  { code: 'DUPLICATE_PAYMENT' },
  { errors: [{ code: 'E9', detail: 'This payment has already been processed.' }] },
  { message: 'Payment already in progress' },
  { message: 'This request is already being processed' },
  { message: 'PAYMENT_STILL_PENDING' },
  { message: 'Processed already' },
  { message: 'This payment was executed before' },
  { message: 'Payment has been executed but the notification failed' },
  { message: 'Payment was successful' },
  { message: 'timeout, transaction may have been executed' },
  { message: 'Payment was executed, but it was not confirmed' },
  { message: 'The amount was debited; no receipt was made' },
  { message: 'Funds were transferred, but the notification failed' },
  { message: 'Transaction succeeded with warnings' },
  { message: 'Transaction partially completed' },
  { message: 'Payment is pending approval by a second signatory' },
  { message: 'Track-ID already used' },
  { message: 'Track-ID must be unique' },
  { message: 'Replay detected' },
  { error: 'upstream timeout' },
  { message: 'Upstream request timeout' },
  { message: 'Timeout waiting for settlement' },
  { code: 'TIMEOUT' },
  { error: { message: 'Previously booked' } },
  {
    message: 'I/O error on POST request: Read timed out; nested exception is java.net.SocketTimeoutException',
  },
  { message: 'The operation has timed out.' },
  { message: 'context deadline exceeded' },
  { error: 'ECONNRESET' },
  { message: 'socket hang up' },
  { message: 'Core banking did not respond' },
  { message: 'Internal Server Error' },
  { message: 'OBP-50000: Unknown Error.' },
  { message: 'The status of the payment is unknown' },
  { message: 'The transfer is in progress' },
  { code: 'PAYMENT_PENDING' },
  { code: 'PAYMENT_EXECUTED' },
  { message: 'Payment executed. Notification failed.' },
  { message: 'The payment has now been executed' },
  { message: 'The receipt could not be created although the payment was executed' },
  { message: 'Request has already been handled' },
  { message: 'Identical payment within 24 hours' },
  { message: 'Similar payment found' },
  { message: 'Non-unique transaction reference' },
  { message: 'Re-submission detected' },
  { message: 'Same request received twice' },
  { message: 'The payment went through but the receipt could not be created' },
  { message: 'Waiting for confirmation by the customer' },
  { message: 'Funds were moved' },
  { code: 'IDEMPOTENCY_KEY_REUSED' },
  { reasonCode: 'AM05' },
];
/** Without a reason for which nothing is executed. */
const doubts = [
  { status: 'UNKNOWN' },
  { state: 'IN_DOUBT' },
  { code: 504 },
  { status: 500, message: 'Core failure' },
  { error: { code: '504' } },
  { transaction_id: 'T9', error: 'Notification failed' },
];
/** Beside a refusal. */
const signsOfSuccess = [
  { status: 'PENDING', code: 422 },
  { code: 400, message: 'x', status: 'COMPLETED' },
  { code: 400, data: { status: 'BOOKED' } },
  { success: true, error: 'no' },
];
/** Entries of a list of transaction requests: of another payment, and of this one if it went well. */
const other = fc
  .tuple(
    fc.constantFrom({}, { status: 'COMPLETED' }, { status: 'FAILED' }, { status: 'PENDING' }),
    fc.constantFrom(
      { to: { account_id: 'y' } },
      { to: { bank_id: 'BK2', account_id: 'x' } },
      { to: { account_id: 'x' }, value: { amount: 5.01, currency: 'EUR' } },
      { value: { amount: '5', currency: 'USD' } },
    ),
  )
  .map(([entry, body]): object => ({ ...entry, body }));
const good = fc
  .tuple(
    fc.constantFrom({}, { status: 'INITIATED' }, { status: 'COMPLETED', id: 'TR' }),
    fc.constantFrom(
      {},
      { body: {} },
      { body: { to: { account_id: 'x' } } },
      { body: { to: { bank_id: 'bk1', account_id: 'x' }, value: { amount: 5, currency: 'eur' } } },
    ),
  )
  .map(([entry, body]): object => ({ ...entry, ...body }));
const listOf = (entries: readonly unknown[]) => JSON.stringify({ 'transaction-requests': entries });

/** JSON in which the bank says two things of one member. */
const saidTwice = fc.constantFrom(
  '{"status":"COMPLETED","status":"FAILED"}',
  '{"status":"FAILED","status":"COMPLETED"}',
  '{"status" : "FAILED" , "id":"TX", "st\\u0061tus":"COMPLETED"}',
  '{"id":"TX","id":"TY"}',
  '{"id":"TX","payment":{"status":"COMPLETED","at":{},"status":"FAILED"}}',
  '{"id":"TX","errors":[],"errors":[{"code":7}]}',
  '{"transaction-requests":[{"id":"TX"},{"status":"COMPLETED","status":"FAILED"}]}',
  '{"transaction-requests":[],"transaction-requests":null}',
  '{"code":403,"message":"a \\"quoted\\": {","code":404}',
);

interface Row {
  readonly status: fc.Arbitrary<number>;
  readonly body: fc.Arbitrary<string | Buffer>;
  /** The operation that the line is about; undefined for both. */
  readonly operation?: typeof request;
  /** Of the answer, instead of the body's length. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What each line of the table in docs/payment-operations.md stands for, by its first two cells. */
const rows: Readonly<Record<string, Row>> = {
  '206 | anything': { status: fc.constant(206), body: anything },
  '2xx except 204 | nothing, although the head has neither `Content-Length` nor `Transfer-Encoding`': {
    status: success.filter((status) => status !== 204),
    body: fc.constant(''),
    headers: { 'content-type': 'application/json' },
  },
  '2xx | not UTF-8, HTML, a truncated document, or a text of more than 64 bytes': {
    status: success,
    body: fc.oneof(
      anything.map((text) => `<!doctype html><p>${text}`),
      fc.constantFrom('<html></html>', '  <p>OK'),
      fc.constant(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])),
      plain(64, 300),
      fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }).chain((value) => {
        const text = JSON.stringify(value);
        return fc.integer({ min: 1, max: text.length - 1 }).map((end) => text.slice(0, end));
      }),
      saidTwice,
    ),
  },
  '2xx | a status that is a word of failure, and a mention of an execution': {
    status: success,
    body: fc
      .tuple(wordFor('failure'), fc.constantFrom(...mentions))
      .map(([status, mention]) => JSON.stringify({ ...mention, paymentStatus: status })),
  },
  '2xx | a status that is a word of failure': {
    status: success,
    body: fc.oneof(
      statusIs(
        wordFor('failure'),
        fc.constantFrom({}, { id: 'TX' }, { error: 'no', code: 51 }, { success: false }),
      ),
      wordFor('failure').map((status) => JSON.stringify([{ status }, { id: 'TX', status }])),
    ),
  },
  '2xx | a sign of a failure': { status: success, body: signsOfFailure },
  '202 | anything else': {
    status: fc.constant(202),
    body: fc.oneof(
      statusIs(fc.oneof(wordFor('success'), wordFor('pending'), otherWords)),
      fc.constantFrom('', '{}', 'null', '[]', '7', '{"id":"TX"}', '{"foo":1}'),
    ),
  },
  '2xx | a status that says that the payment is pending': {
    status: done,
    body: statusIs(
      wordFor('pending').filter((word) => !/^initiated$/i.test(word)),
      fc.constantFrom({}, { id: 'TX' }, { success: true }),
    ).chain((body) =>
      fc.constantFrom(body, '{"id":"TX","status":{"code":"PENDING"}}', '{"id":"TX","pending":true}'),
    ),
  },
  '2xx | a status, code, message or text in other words': {
    status: done,
    body: fc.oneof(
      statusIs(otherWords, fc.constantFrom({}, { id: 'TX' }, { success: true })),
      fc
        .tuple(fc.constantFrom('message', 'reason', 'title', 'code'), otherWords)
        .map(([name, word]) => JSON.stringify({ id: 'TX', [name]: word })),
      otherWords.map((status) => JSON.stringify({ id: 'TX', payment: { status } })),
      otherWords.map((code) => JSON.stringify({ id: 'TX', status: { code } })),
      fc.constant('{"id":"TX","status":{"since":"today"}}'),
    ),
  },
  '2xx | nothing, white space or `{}`': {
    status: done,
    body: fc.constantFrom('', ' ', '\r\n', '\uFEFF', '\uFEFF ', '{}', ' { } '),
  },
  '2xx | a status that is a word of success, or `"success": true`': {
    status: done,
    body: fc.oneof(
      statusIs(
        wordFor('success'),
        fc.constantFrom({}, { id: 'TX', code: 200 }, { code: '00', error: null }, { message: 'Thank you' }),
      ),
      members(
        { success: true },
        { code: '00', message: 'Success' },
        { data: { status: 'ACSC' } },
        { status: { code: 'COMPLETED' } },
        { id: 'TX', status: { code: 200, message: 'OK' } },
        { id: 'TX', description: 'Refused, cancelled: FAILED', success: true },
      ),
    ),
  },
  '2xx | an object with an id': {
    status: done,
    body: members(
      { id: 'TX' },
      { id: 7, amount: 1.1 },
      { transaction_id: 'TX', description: 'Insufficient funds' },
      { paymentId: 'TX', error: null, errors: [], code: 0 },
    ),
  },
  '2xx | a list of other transaction requests, in answer to one': {
    status: done,
    operation: request,
    body: fc.array(other, { minLength: 1, maxLength: 3 }).map(listOf),
  },
  '2xx | a list of transaction requests, in answer to one': {
    status: done,
    operation: request,
    body: fc.oneof(
      fc.constantFrom('[]', '{"transaction-requests":[]}', '[{"description":"KO"}]'),
      fc
        .tuple(fc.array(other, { maxLength: 2 }), fc.array(good, { minLength: 1, maxLength: 3 }))
        .map(([others, own]) => listOf([...others, ...own])),
    ),
  },
  '2xx | anything else': {
    status: done,
    body: fc.oneof(
      fc.constantFrom(
        'null',
        'true',
        'false',
        '7',
        '"TX-1"',
        '{"accepted":null}',
        '{"id":""}',
        '{"id":null}',
      ),
      members({ foo: 1 }, { value: { amount: 1 } }, { data: { id: 'TX' } }, { requestId: 'r' }),
    ),
  },
  '401 | a JSON object with a sign of success, a mention of an execution, or a doubt': {
    status: fc.constant(401),
    body: members(...signsOfSuccess, ...mentions, ...doubts),
  },
  '401 | anything else': { status: fc.constant(401), body: anything },
  '400, 402, 403, 404, 405, 413, 415, 422, 429 | a JSON object without a sign of success, a mention of an execution, or a doubt':
    {
      status: named,
      body: fc.oneof(
        members(
          { code: 403, message: 'no' },
          { foo: 1 },
          {},
          { error: { id: 'E1' } },
          { id: 'E1', message: 'no' },
          { code: 400, message: 'The account is already closed' },
          { code: 400, message: 'The daily limit is already used up' },
          { code: 400, message: 'No payment was executed' },
          { code: 400, message: 'The payment has not been processed' },
          { code: 422, message: 'Complete your profile before you pay' },
          { code: 422, message: 'The session has expired' },
          { transactionId: 'T1', error: 'Insufficient funds' },
          { transaction_id: 'T1', status: 'REJECTED' },
          { errorCode: '501', message: 'Insufficient funds' },
          { code: 'UNKNOWN', message: 'The payee was not found' },
          { message: 'A unique identifier of the payee is missing' },
          { code: 422, message: 'The request was received without a signature' },
          ...failures,
        ),
      ),
    },
  '400, 402, 403, 404, 405, 413, 415, 422, 429 | anything else': {
    status: named,
    body: fc.oneof(
      plain(0, 100),
      fc.constantFrom('', '[]', '"no"', 'null', '7', '<p>{}', '{"a":', '[{"message":"no"}]'),
      members({ status: 'COMPLETED' }, { transactionStatus: 'ACSC' }, { status: 'PENDING' }, { id: 'TX' }),
      members(...contradictions, ...mentions, ...doubts, ...signsOfSuccess),
      saidTwice,
    ),
  },
  'any other | anything': {
    status: fc.integer({ min: 300, max: 599 }).filter((status) => !defaultRejectedStatuses.has(status)),
    body: anything,
  },
};

/** The table's lines: the first two cells, and the payment's state. */
const documented = [...section.matchAll(/^\| (\d.*|any other .*) \| ([\w]+)[^|]*\|$/gm)].map(
  ([, what = '', state = '']) => ({ what, state: state === 'no' ? 'RELEASED' : state }),
);

describe('the table of what the bank means, in docs/payment-operations.md', () => {
  test('has no line but those that are held here', () => {
    expect(documented.map(({ what }) => what)).toEqual(Object.keys(rows));
  });

  test.each(documented)('says the truth: $what is $state', ({ what, state }) => {
    const { status, body, operation: only, headers } = rows[what] ?? expect.unreachable(what);
    const operations = only === undefined ? [transfer, request] : [only];
    fc.assert(
      fc.property(status, body, fc.constantFrom(...operations), (status, body, operation) => {
        expect(classify(status, body, operation, undefined, undefined, headers).state).toBe(state);
      }),
      { numRuns: 300 },
    );
  });
});

test('an empty body is evidence if the answer says that it is empty', () => {
  const heads: Record<string, string>[] = [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }];
  for (const headers of heads)
    expect(classify(200, '', transfer, undefined, undefined, headers).state).toBe('DONE');
  expect(classify(204, '', transfer, undefined, undefined, {}).state).toBe('DONE');
});

test.each(['0', '"0"', '" "', '"none"', '"NULL"', '"false"'])(
  'the id %s is that of no payment, in a success and in a refusal',
  (id) => {
    for (const name of ['id', 'transactionId', 'payment_id']) {
      expect(classify(200, `{"${name}":${id}}`)).toMatchObject({ state: 'UNKNOWN', isAccepted: false });
      expect(classify(200, `{"${name}":${id},"status":"OK"}`)).toMatchObject({ state: 'DONE' });
      expect(classify(400, `{"${name}":${id},"message":"No funds"}`)).toMatchObject({ state: 'REJECTED' });
    }
  },
);

test('a member that is there twice with the same value, or in two objects, contradicts nothing', () => {
  for (const body of [
    '{"status":"COMPLETED","id":"TX","status": "COMPLETED"}',
    '{"id":"TX","a":{"id":"1"},"b":{"id":"2"},"c":[{"id":"3"},{"id":"4"}]}',
    '{"id":"TX","description":"{\\"id\\":1,\\"id\\":2}","value":{"a":[1,2],"b":1}}',
    '{"__proto__":{"status":"FAILED"},"id":"TX","toString":1,"status":"COMPLETED"}',
  ])
    expect({ body, state: classify(200, body).state }).toEqual({
      body,
      state: body.includes('FAILED') ? 'UNKNOWN' : 'DONE',
    });
  expect(classify(403, '{"message":"no","code":403,"message":"no"}').state).toBe('REJECTED');
});

describe('whatever the bank answers', () => {
  const body = fc.oneof(
    fc.string(),
    anything,
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );

  test('the answer that is kept is bounded, can be read again, and is kept for DONE and 202 alone', () => {
    const huge = fc
      .array(fc.record({ status: fc.string(), description: fc.constant('x'.repeat(5000)) }), {
        maxLength: 20,
      })
      .map((list) => JSON.stringify({ 'transaction-requests': list }));
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 599 }),
        fc.oneof(body, huge),
        fc.constantFrom(transfer, request),
        (status, body, operation) => {
          const { state, answer } = classify(status, body, operation);
          expect(answer?.length ?? 0).toBeLessThan(33_000);
          if (answer === null) return;
          expect(state === 'DONE' || status === 202).toBe(true);
          expect(readStoredResponse(operation, answer)).not.toBeNull();
        },
      ),
    );
  });

  test('is never DONE for a status that is no success', () => {
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), body, (status, body) => {
        expect(classify(status, body).state).not.toBe('DONE');
      }),
    );
  });
});

describe('the readable parts', () => {
  test.each([
    ['{"id":"TX","status":"BOOKED","note":"x","amount":1.10}', '{"id":"TX","status":"BOOKED"}'],
    ['\uFEFF{"id":"TX"}', '{"id":"TX"}'],
    ['[{"id":"TX"}]', '{"id":"TX"}'],
    ['[{"id":"TX"},{"id":"TY"}]', null],
    ['OK', '{"status":"OK"}'],
    ['"OK"', '{"status":"OK"}'],
    ['{"success":true,"value":{"amount":1}}', null],
    ['{}', null],
    ['', null],
    [`{"id":"${secret}-1"}`, '{"id":"[redacted]-1"}'],
    [`{"id":"${'x'.repeat(3995)}${secret}"}`, `{"id":"${'x'.repeat(3995)}[reda"}`],
    [`{"id":"${'x'.repeat(5000)}"}`, `{"id":"${'x'.repeat(4000)}"}`],
  ])('of %j for a transfer are %j', (body, answer) => {
    expect(classify(200, body)).toEqual({ state: 'DONE', answer, isAccepted: false });
  });

  test.each<[body: string, expected: unknown, drift?: string]>([
    ['{"transaction-requests":[{"status":"INITIATED","other":1}]}', [{ status: 'INITIATED' }]],
    ['{"transaction-requests":[]}', []],
    [
      '{"transaction_requests":[{"status":"INITIATED"},{"status":"COMPLETED"}]}',
      [{ status: 'INITIATED' }, { status: 'COMPLETED' }],
      'envelope',
    ],
    ['{"transactionRequest":{"status":"COMPLETED"}}', [{ status: 'COMPLETED' }], 'envelope'],
    [
      '{"transaction-requests":[{"body":{"value":{"amount":5.0000000000000000010}}}]}',
      [{ body: { value: { amount: '5.0000000000000000010' } } }],
    ],
    ['[]', [], 'envelope'],
    ['{"status":"COMPLETED"}', [{ status: 'COMPLETED' }], 'envelope'],
    ['{"transaction-requests":{"status":"COMPLETED"}}', [{ status: 'COMPLETED' }], 'envelope'],
    ['OK', [{ status: 'OK' }], 'empty-body'],
    ['{}', null, 'empty-record'],
    ['', null, 'empty-body'],
  ])('of %j for a transaction request are %j, and drift as %j', (body, expected, expectedDrift) => {
    const { state, answer, drift } = classify(200, body, request);
    expect({ state, drift }).toEqual({ state: 'DONE', drift: expectedDrift });
    expect(readStoredResponse(request, answer)).toEqual(expected);
  });

  test.each([
    '{"transaction_requests":[{"status":"INITIATED"}],"error":{"code":"X"}}',
    '{"transaction-requests":{"status":"INITIATED"},"error":{"code":"X"}}',
    '{"transaction_requests":[]}',
  ])('beside an error, or of a list under another name that is empty, make nothing DONE: %s', (body) => {
    expect(classify(200, body, request).state).toBe('UNKNOWN');
  });

  test.each([
    [202, '{"id":"TX","status":"ACCEPTED"}'],
    [200, '{"id":"TX","status":"PENDING"}'],
  ])('of what was accepted for later are kept too: %i %s', (status, answer) => {
    expect(classify(status, answer)).toEqual({ state: 'UNKNOWN', answer, isAccepted: true });
  });

  test('of a record from before answers were cut down are read as well', () => {
    expect(readStoredResponse(transfer, '{"id":"TX","amount":1.10}')).toEqual({ id: 'TX', amount: '1.10' });
  });
});

describe('a list of transaction requests', () => {
  const to = { bank_id: 'BK1', account_id: 'x' };
  const own = (status: string) => ({ status, body: { to, value: { currency: 'EUR', amount: 5 } } });
  const others = (status: string) => ({ status, body: { to: { account_id: 'other' } } });

  test.each([
    ['DONE', [own('INITIATED')]],
    ['DONE', [others('FAILED'), own('INITIATED')]],
    ['DONE', [{ status: 'FAILED' }, 7, own('INITIATED')]],
    ['UNKNOWN', [{ status: 'COMPLETED' }, own('FAILED')]],
    ['UNKNOWN', [others('COMPLETED'), own('FAILED')]],
    ['REJECTED', [others('FAILED'), own('FAILED')]],
    ['REJECTED', [own('FAILED'), own('RJCT')]],
    ['UNKNOWN', [others('FAILED')]],
    ['UNKNOWN', [others('COMPLETED')]],
    ['UNKNOWN', [own('FAILED'), own('INITIATED')]],
    ['UNKNOWN', [own('COMPLETED'), own('PENDING')]],
    ['UNKNOWN', [own('COMPLETED'), own('KO')]],
    ['UNKNOWN', [{ status: 'FAILED' }, { status: 'INITIATED' }]],
  ])('is %s by the entries that may be this payment, which may be an earlier one: %j', (state, entries) => {
    expect(classify(200, listOf(entries), request).state).toBe(state);
  });
});

/** Refusals with status 200, as banks, gateways, login pages and firewalls send them: none of them is DONE. */
const refusals: readonly (readonly ['UNKNOWN' | 'REJECTED', string])[] = [
  ['REJECTED', '{"transactionStatus":"RJCT"}'],
  ['REJECTED', '{"transactionStatus":"CANC"}'],
  ['REJECTED', '{"id":"TX","transactionStatus":"RJCT"}'],
  ['REJECTED', '{"paymentStatus":"Rejected"}'],
  ['REJECTED', '{"payment_status":"cancelled"}'],
  ['REJECTED', '{"status":"RJCT","code":"AM04"}'],
  ['REJECTED', '{"status":"DECLINED","id":"TX","message":"Insufficient funds"}'],
  ['REJECTED', '{"result":"FAILED","success":false}'],
  ['REJECTED', '{"outcome":"declined"}'],
  ['REJECTED', '{"state":"REJECTED"}'],
  ['REJECTED', '{"Status":"FAILED"}'],
  ['REJECTED', 'CANC'],
  ['REJECTED', '"RJCT"'],
  ['UNKNOWN', '{"code":400,"message":"Insufficient funds"}'],
  ['UNKNOWN', '{"code":"400","id":"TX"}'],
  ['UNKNOWN', '{"statusCode":401,"message":"Access denied due to invalid subscription key"}'],
  ['UNKNOWN', '{"id":"6a1","code":"INSUFFICIENT_FUNDS"}'],
  ['UNKNOWN', '{"id":"6a1","errorCode":1001}'],
  ['UNKNOWN', '{"id":"6a1","message":"Please log in"}'],
  ['UNKNOWN', '{"id":"6a1","title":"Limit exceeded","status":422}'],
  ['UNKNOWN', '{"message":"Insufficient funds"}'],
  ['UNKNOWN', '{"message":"Account is blocked"}'],
  ['UNKNOWN', '{"reason":"Account closed"}'],
  ['UNKNOWN', '{"detail":"Daily limit exceeded","type":"about:blank"}'],
  ['UNKNOWN', '{"error":"invalid_token","error_description":"expired"}'],
  ['UNKNOWN', '{"status":"error","error":"Insufficient funds"}'],
  ['UNKNOWN', '{"status":"OK","error":"Insufficient funds"}'],
  ['UNKNOWN', '{"status":"success","data":{"accepted":false}}'],
  ['UNKNOWN', '{"status":"success","errors":[{"code":"AM04"}]}'],
  ['UNKNOWN', '{"status":"error","message":"no"}'],
  ['UNKNOWN', '{"status":"FAILURE"}'],
  ['UNKNOWN', '{"status":"DENIED"}'],
  ['UNKNOWN', '{"status":"KO"}'],
  ['UNKNOWN', '{"status":"NOK"}'],
  ['UNKNOWN', '{"status":"BLCK"}'],
  ['UNKNOWN', '{"status":"EXPIRED","id":"TX"}'],
  ['UNKNOWN', '{"status":"TransactionRejected"}'],
  ['UNKNOWN', '{"status":1}'],
  ['UNKNOWN', '{"result":{"status":"RJCT"}}'],
  ['UNKNOWN', '{"result":"KO"}'],
  ['UNKNOWN', '{"id":"TX","error":"Insufficient funds"}'],
  ['UNKNOWN', '{"fault":{"faultstring":"Rate limit quota violation"}}'],
  ['UNKNOWN', '{"exception":"java.lang.IllegalStateException","id":"TX"}'],
  ['UNKNOWN', '{"accepted":false}'],
  ['UNKNOWN', '{"id":"TX","success":"false"}'],
  ['UNKNOWN', '{"approved":0}'],
  ['UNKNOWN', '{"declined":true,"id":"TX"}'],
  ['UNKNOWN', '{"responseCode":"51","id":"TX"}'],
  ['UNKNOWN', '{"returnCode":-1}'],
  ['UNKNOWN', '{"transaction":null}'],
  ['UNKNOWN', '{"id":null,"status":null}'],
  ['UNKNOWN', '{"requestId":"6a1","timestamp":"2026-01-01"}'],
  ['UNKNOWN', '["RJCT"]'],
  ['UNKNOWN', '[{"id":"TX"},{"status":"RJCT"}]'],
  ['UNKNOWN', '[]'],
  ['UNKNOWN', 'KO'],
  ['UNKNOWN', '"KO"'],
  ['UNKNOWN', 'false'],
  ['UNKNOWN', 'null'],
  ['UNKNOWN', '0'],
  ['UNKNOWN', 'ERROR'],
  ['UNKNOWN', 'no healthy upstream'],
  ['UNKNOWN', 'Please log in'],
  ['UNKNOWN', 'Service Unavailable'],
  ['UNKNOWN', 'Insufficient funds'],
  ['UNKNOWN', 'Request blocked. Support ID: 123'],
  ['UNKNOWN', '<html><title>Request Rejected</title></html>'],
];

describe('a refusal with status 200', () => {
  test.each(refusals)('is %s: %s', (state, body) => {
    expect(classify(200, body)).toEqual({ state, answer: null, isAccepted: false });
  });

  test.each([
    ['REJECTED', '{"transaction-requests":[{"status":"RJCT"}]}'],
    ['REJECTED', '{"transaction-requests":[{"id":"TR","status":"CANCELLED"}]}'],
    ['REJECTED', '{"transaction-requests":{"status":"FAILED"}}'],
    ['UNKNOWN', '{"transaction-requests":[{"status":"KO"}]}'],
    ['UNKNOWN', '{"transaction-requests":[{"status":"INITIATED","error":"no"}]}'],
    ['UNKNOWN', '{"status":"FAILED","transaction-requests":[]}'],
    ['UNKNOWN', '{"status":"KO","transaction-requests":[{"status":"INITIATED"}]}'],
    ['UNKNOWN', '{"status":"REJECTED","transaction-requests":[{"id":"TR","status":"INITIATED"}]}'],
    ['UNKNOWN', '{"code":400,"transaction-requests":[]}'],
    ['UNKNOWN', '{"success":false,"transaction-requests":[{"id":"TR"}]}'],
    ['UNKNOWN', '{"transaction-requests":"FAILED"}'],
    ['UNKNOWN', '{"transaction-requests":["FAILED"]}'],
    ['UNKNOWN', '{"transaction-requests":[null]}'],
    ['UNKNOWN', '{"transaction-requests":null}'],
  ])('to a transaction request is %s: %s', (state, body) => {
    expect(classify(200, body, request)).toEqual({ state, answer: null, isAccepted: false });
  });

  test('is found however deep it is', () => {
    const deep = `${'['.repeat(5000)}"FAILED"${']'.repeat(5000)}`;
    expect(classify(200, deep).state).toBe('UNKNOWN');
    expect(classify(200, `{"id":"TX","inside":{"status":${deep}}}`).state).toBe('UNKNOWN');
  });
});

describe('a request in a list is this payment although the bank spells it in another way', () => {
  test.each([
    { to: { bank_id: 'BK1XXX', account_id: 'X' } },
    { to: { bank_id: '', account_id: '' }, value: { amount: '', currency: '' } },
    { to: { account_id: 'x ' }, value: { amount: '5,00', currency: 'EUR' } },
  ])('%j', (body) => {
    expect(classify(200, listOf([{ status: 'COMPLETED', body }]), request).state).toBe('DONE');
    const value = { currency: 'EUR', amount: 5 };
    const earlier = { status: 'FAILED', body: { to: { bank_id: 'BK1', account_id: 'x' }, value } };
    expect(classify(200, listOf([{ status: 'COMPLETED', body }, earlier]), request).state).toBe('UNKNOWN');
  });
});

describe('a refusal in ordinary words', () => {
  test.each([
    'OBP-40018: Insufficient funds.',
    'Daily limit already exceeded',
    'Your session has timed out',
    'SESSION_TIMEOUT',
    'Your account was not debited. Insufficient funds.',
    'Payment has not been executed due to insufficient funds',
    'The account was already closed',
    'Payment execution date is invalid',
    'Payment booking failed',
    'Payments are currently not processed on weekends',
    'Customer has not completed KYC',
    'Payer and payee are the same account',
    'Unknown beneficiary bank',
    'AM04',
  ])('is REJECTED: %s', (message) => {
    expect(classify(400, JSON.stringify({ code: 'E1', message })).state).toBe('REJECTED');
    expect(classify(200, JSON.stringify({ status: 'FAILED', message })).state).toBe('REJECTED');
  });
});

describe('an envelope that says it went well', () => {
  test('leaves the entries to speak for themselves', () => {
    const body = '{"status":"OK","transaction-requests":[{"status":"INITIATED"}]}';
    expect(classify(200, body, request).state).toBe('DONE');
    expect(classify(200, body.replace('INITIATED', 'RJCT'), request).state).toBe('REJECTED');
  });
});

/** A firewall may block the bank's answer to a payment that was executed. */
describe('a refusal that is not the bank’s own', () => {
  test.each([400, 402, 403, 404, 405, 413, 415, 422, 429])('is UNKNOWN for %i', (status) => {
    for (const body of ['', '<html>Blocked</html>', 'Forbidden', '"Forbidden"', '[]', '{"message":'])
      expect(classify(status, body), body).toEqual({ state: 'UNKNOWN', answer: null, isAccepted: false });
    expect(classify(status, '{"code":403,"message":"Blocked"}').state).toBe('REJECTED');
  });

  test('is RELEASED for 401 whatever its body', () => {
    for (const body of ['', '<html>Log in</html>', '{"message":"no"}'])
      expect(classify(401, body).state).toBe('RELEASED');
  });
});

test('the description that was sent is not taken for the bank’s words', () => {
  const { description } = sent;
  expect(classify(400, JSON.stringify({ description, message: 'no' })).state).toBe('REJECTED');
  expect(classify(400, JSON.stringify({ description: `${description}.` })).state).toBe('UNKNOWN');
});

describe('a bank with words of its own', () => {
  const bankWords = bankWordsOf(
    ['Posted', 'PENDING', 'Transfer created', 'A000'],
    ['DENIED', 'AM04', 'Not enough money'],
  );
  const say = (body: string, status = 200) => classify(status, body, transfer, undefined, bankWords).state;

  test('is understood', () => {
    expect(say('{"status":"POSTED"}')).toBe('DONE');
    expect(say('posted')).toBe('DONE');
    expect(say('{"id":"TX","status":"PENDING"}')).toBe('DONE');
    expect(say('{"id":"TX","message":"Transfer created"}')).toBe('DONE');
    expect(say('{"code":"A000"}')).toBe('DONE');
    expect(say('{"status":"denied"}')).toBe('REJECTED');
    expect(say('{"code":"AM04"}')).toBe('REJECTED');
    expect(say('{"message":"Not enough money"}')).toBe('REJECTED');
  });

  test('is not believed if it contradicts itself', () => {
    expect(say('{"status":"POSTED","code":"AM04"}')).toBe('UNKNOWN');
    expect(say('{"status":"POSTED","error":"x"}')).toBe('UNKNOWN');
    expect(say('{"status":"POSTED"}', 400)).toBe('UNKNOWN');
    expect(say('{"status":"POSTED","error":"x"}', 400)).toBe('UNKNOWN');
    expect(say('{"status":"POSTED"}', 202)).toBe('UNKNOWN');
  });
});

test('long texts are read in a time that does not grow with the square of their length', () => {
  const long = 100_000;
  for (const text of ['accept', '_', 'already ', 'still_', 'has been ', ' '].map((part) => part.repeat(long)))
    for (const message of [text, `accept${text}`, `already${text}`])
      expect(classify(422, JSON.stringify({ code: 1, message })).state).toMatch(/^(REJECTED|UNKNOWN)$/);
});

test('a text that sounds like a repetition is a refusal if the operator says so', () => {
  const body = '{"code":422,"message":"Duplicate of a request that we did not execute"}';
  const refusal = bankWordsOf([], ['duplicate of a request that we did not execute']);
  expect(classify(422, body).state).toBe('UNKNOWN');
  expect(classify(422, body, transfer, undefined, refusal).state).toBe('REJECTED');
});

describe('a bank that means otherwise by its statuses', () => {
  const statuses = new Set([400, 409]);

  test('refuses with the statuses that are configured, and no others', () => {
    expect(classify(409, '{"message":"no"}', transfer, statuses).state).toBe('REJECTED');
    for (const status of [401, 402, 403, 422, 429])
      expect(classify(status, '{"message":"no"}', transfer, statuses).state).toBe('UNKNOWN');
  });

  test('has to say so itself', () => {
    for (const status of statuses) {
      expect(classify(status, '<p>Conflict</p>', transfer, statuses).state).toBe('UNKNOWN');
      expect(classify(status, '', transfer, statuses).state).toBe('UNKNOWN');
    }
  });
});

describe('an answer that would take too long to parse', () => {
  const values = `{"id":"TX","status":"DONE","values":[${Array(300_000).fill('1').join()}]}`;
  const names = `{"id":"TX",${Array.from({ length: 50_000 }, (_, n) => `"n${n}":1`).join()}}`;

  test.each([
    ['values', values],
    ['names', names],
  ])('is not read, and says nothing of how the payment ended: many %s', (_, body) => {
    for (const status of [200, 201, 202, 402, 422, 429])
      expect(classify(status, body)).toEqual({ state: 'UNKNOWN', answer: null, isAccepted: false });
    expect(classify(401, body).state).toBe('RELEASED');
  });
});
