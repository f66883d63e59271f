import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operations } from '../../../src/contract/operations.ts';
import { accountRef, money } from '../../../src/contract/shared-parts.ts';
import { transaction, transactionMetadata } from '../../../src/contract/transaction.ts';
import { transactionRequest } from '../../../src/contract/transaction-request.ts';
import { classifyPaymentResponse } from '../../../src/payments/answer/classify.ts';
import {
  type BankWords,
  bankWordsOf,
  noBankWords,
  phrases,
} from '../../../src/payments/answer/payment-words.ts';
import { readStoredResponse } from '../../../src/payments/answer/stored-response.ts';
import { bankAnswers } from './bank-answers.ts';

const transfer = operations.postMakeTransaction;
const details = transaction.shape.details.unwrap().unwrap();
const request = operations.putTransactionsRequestAccount;
const secret = 'the-subscription-key';
const sent = {
  bankId: 'BK0',
  accountId: 'payer',
  toBankId: 'BK1',
  toAccountId: 'x',
  currency: 'EUR',
  amount: '5.00',
  description: 'Rent',
  trackId: '6f1c9a52-6a0e-4d52-9d5b-0f4cf3b3a001',
  createdAt: Date.parse('2026-01-15T09:59:59Z'),
  others: ['owner', 'SEPA', 'auth-1'],
};
const now = Date.parse('2026-01-15T10:00:00Z');

interface More {
  readonly operation?: typeof transfer | typeof request;
  readonly bankWords?: BankWords;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sent?: Partial<
    Record<'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description', string | null>
  >;
}

function classify(status: number, body: string | Buffer, more: More = {}) {
  const { operation = transfer, bankWords = noBankWords } = more;
  const headers = more.headers ?? { 'content-length': String(Buffer.byteLength(body)) };
  return classifyPaymentResponse(
    { status, headers, body: Buffer.from(body) },
    { operation, bankWords, sent: { ...sent, ...more.sent }, secrets: [secret], now },
  );
}
const stateOf = (status: number, body: string | Buffer, more?: More) => classify(status, body, more).state;
const put = { operation: request };

/** The states that a payment may have after a clear answer, by what truly happened to the payment. */
const clear = { executed: ['DONE'], refused: ['REJECTED', 'RELEASED'], unknowable: [] } as const;

describe('the answers of banks', () => {
  test('are many, of many APIs, and enough of them are clear', () => {
    expect(bankAnswers.length).toBeGreaterThanOrEqual(360);
    expect(new Set(bankAnswers.map(({ api }) => api)).size).toBeGreaterThanOrEqual(12);
    const clearOnes = (what: keyof typeof clear) =>
      bankAnswers.filter(({ truth, isClear }) => isClear && truth === what).length;
    expect(clearOnes('executed')).toBeGreaterThanOrEqual(36);
    expect(clearOnes('refused')).toBeGreaterThanOrEqual(55);
  });

  test.each(bankAnswers)('are UNKNOWN unless they are clear: $api, $truth: $status $body', (answer) => {
    const { truth, isPut, status, body, isClear } = answer;
    expect(isClear ? clear[truth] : ['UNKNOWN']).toContain(stateOf(status, body, isPut ? put : {}));
  });
});

const asSent =
  '{"to":{"bank_id":"BK1","account_id":"x"},"value":{"currency":"EUR","amount":5},"description":"Rent"}';

describe('an answer that is understood', () => {
  /** The answers that mean DONE or REJECTED, as JSON objects. */
  const deciding = bankAnswers.filter(
    ({ status, body, isClear }) =>
      isClear && status !== 401 && body.trimStart().startsWith('{') && body !== '{}',
  );
  const one = fc.constantFrom(...deciding);
  const strangeName = fc.stringMatching(/^[a-z]{3,9}_[a-z]{3,9}$/).map((name) => `zz_${name}`);
  const strangeValue = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constant({ id: 'T' }),
    fc.constant([{ status: 'COMPLETED' }]),
  );
  const isUnknown = ({ isPut, status }: (typeof deciding)[number], body: string) =>
    expect(stateOf(status, body, isPut ? put : {})).toBe('UNKNOWN');
  const withMember = (body: string, member: string) => body.trim().replace(/\}$/, `,${member}}`);

  test('becomes UNKNOWN by a member that bankql does not know', () => {
    fc.assert(
      fc.property(one, strangeName, strangeValue, (answer, name, value) => {
        isUnknown(answer, withMember(answer.body, `"${name}":${JSON.stringify(value)}`));
      }),
      { numRuns: 500 },
    );
  });

  test('becomes UNKNOWN by a name that occurs twice, in whatever spelling, even with the same value', () => {
    const spelling = fc.constantFrom(
      (name: string) => name,
      (name: string) => name.toUpperCase(),
      (name: string) => name.replaceAll('_', ''),
      (name: string) => [...name].join('_'),
      (name: string) => ` ${name}-`,
    );
    fc.assert(
      fc.property(one, spelling, fc.nat(), (answer, spell, index) => {
        const members = Object.entries(JSON.parse(answer.body));
        const [name, value] = members[index % members.length] ?? ['', null];
        isUnknown(answer, withMember(answer.body, `${JSON.stringify(spell(name))}:${JSON.stringify(value)}`));
      }),
      { numRuns: 500 },
    );
  });

  test('is UNKNOWN inside of another object or list', () => {
    const names = ['data', 'payment', 'response', 'body', 'result', 'details', 'error', 'status'];
    const outer = fc.constantFrom(...names);
    fc.assert(
      fc.property(one, outer, (answer, name) => {
        fc.pre(answer.status < 300);
        isUnknown({ ...answer, isPut: false }, `{"${name}":${answer.body}}`);
        isUnknown({ ...answer, isPut: false }, `[${answer.body}]`);
      }),
    );
  });

  test('a change of one value never turns a refusal into an execution, or back', () => {
    const texts = ['', ' ', '0', 'error', 'null', 'ok!', '-OK'];
    const lookAlikes = ['COMPLETED ', 'ＣＯＭＰＬＥＴＥＤ', 'СOMPLETED', 'COMPLETED\u200b'];
    const odd = fc.oneof(strangeValue, fc.constantFrom(...texts, ...lookAlikes, -1, 1e300));
    fc.assert(
      fc.property(one, odd, fc.nat(), (answer, value, index) => {
        const parsed: Record<string, unknown> = JSON.parse(answer.body);
        const name = Object.keys(parsed)[index % Object.keys(parsed).length] ?? '';
        // A value that contains the known status COMPLETED would make another answer.
        fc.pre(!JSON.stringify(value).includes('COMPLETED') || JSON.stringify(value) === '"COMPLETED\u200b"');
        const state = (body: string) => stateOf(answer.status, body, answer.isPut ? put : {});
        const changed = JSON.stringify({ ...parsed, [name]: value });
        expect(['UNKNOWN', state(answer.body)]).toContain(state(changed));
      }),
      { numRuns: 500 },
    );
  });

  test('has to be whole', () => {
    fc.assert(
      fc.property(one, fc.integer({ min: 1, max: 30 }), ({ status, body, isPut }, cut) => {
        const text = body.trim();
        expect(stateOf(status, text.slice(0, Math.max(1, text.length - cut)), isPut ? put : {})).toBe(
          'UNKNOWN',
        );
      }),
    );
    expect(stateOf(206, '{"id":"T"}')).toBe('UNKNOWN');
    expect(stateOf(200, '', { headers: {} })).toBe('UNKNOWN');
    expect(stateOf(200, '', { headers: { 'transfer-encoding': 'chunked' } })).toBe('DONE');
    expect(stateOf(200, '', { headers: { 'transfer-encoding': 'gzip, Chunked' } })).toBe('DONE');
    // The end of the connection ends these bodies.
    for (const coding of ['identity', 'gzip', 'chunked, identity', '']) {
      expect(stateOf(200, '', { headers: { 'transfer-encoding': coding } })).toBe('UNKNOWN');
      expect(stateOf(401, '', { headers: { 'transfer-encoding': coding } })).toBe('UNKNOWN');
    }
    expect(stateOf(204, '', { headers: {} })).toBe('DONE');
  });
});

describe('an answer that is not what it looks like', () => {
  test.each([
    '{"ѕtatus":"COMPLETED"}',
    '{"status\u200b":"COMPLETED","id":"T"}',
    '{"ｉｄ":"T"}',
    '{"id":"Ｔ T"}',
    '{"id":" "}',
    '{"id":"NaN"}',
    '{"id":"undefined"}',
    '{"id":"-"}',
    '{"id":true}',
    '{"id":[["T"]]}',
    '{"id":[]}',
    '{"id":{}}',
    '{"id":"T","status":"ОК"}',
    '{"id":"T","status":"OK\u0301"}',
    '{"id":"T","status":"ok\u200d"}',
    '{"id":"T","status":"-OK"}',
    '{"id":"T","status":1}',
    '{"id":"T","status":{"code":"COMPLETED"}}',
    '{"id":"T","status":[["COMPLETED"]]}',
    '{"id":"T","amount":"-5.00"}',
    '{"id":"T","amount":"5,00"}',
    '{"id":"T","amount":"5.000000000000000000000000001"}',
    '{"id":"T","amount":5e1}',
    '{"id":"T","amount":5e999999999}',
    '{"id":"T","currency":"USD"}',
    '{"id":"T","created":"2026-02-30"}',
    '{"id":"T","created":"2026-01-15T10:06:00Z"}',
    '{"id":"T","created":"yesterday"}',
    '{"id":"T","created":1700000000}',
    '{"id":"T","_links":{"scaRedirect":{"href":"https://bank.example/sca"}}}',
    '{"id":"T","self":"REJECTED"}',
    '{"id":"T","__proto__":{"status":"FAILED"}}',
    '{"id":"T","constructor":"x"}',
    '{"id":"T","toString":1}',
    '{"id":"T","hasOwnProperty":true}',
    '{"id":"T","details":{"status":"COMPLETED","cancelled_by_user_id":"U"}}',
    '{"id":"T","status":"COMPLETED","details":{"Status":"FAILED"}}',
    '{"id":"T","status":"COMPLETED","details":{"status":"NOK2"}}',
    '{"id":"T","status":"COMPLETED","details":{"type":"REJECTED"}}',
    '{"id":"T","status":"COMPLETED","other_account":"Insufficient funds"}',
    '{"id":"T","transaction_ids":[]}',
    '{"error":{"id":"T"}}',
    '{"id":"T","errors":[{},{"code":"FAILED"}]}',
    '{"id":"T","status":"COMPLETED","challenges":[{},{"id":"c"}]}',
    '{"status":"REJECTED","executed":[{}]}',
    '{"id":"T","status":"PENDING","failure":{"toString":1}}',
    '{"status":"REJECTED","challenge":"executed"}',
    '{"id":"T","status":"REJECTED","metadata":{"narrative":"The payment was booked before"}}',
  ])('is UNKNOWN: %s', (body) => {
    expect(stateOf(200, body)).toBe('UNKNOWN');
  });

  test.each([
    '{"id":"T","amount":"05.00","currency":"eur"}',
    '{"id":"T","amount":5e0}',
    '{"ID":7,"Status":" success "}',
    '{"id":"T","created":"2026-01-15T10:04:00Z"}',
    '{"id":"T","created":"2026-01-16"}',
    '{"transaction_ids":["T1","T2"]}',
    '{"transaction_ids":"T1, T2"}',
    '{"status":"COMPLETED","transaction_ids":[]}',
    '{"id":"T","from":{"account_id":"payer","bank_id":"BK0"},"to":{"bank_id":"BK1XXX"}}',
    '{"id":"T","_links":{"self":{"href":"https://bank.example/T"}}}',
    '{"id":"T","status":"OK","_links":{"self":{"href":"https://bank.example/T"},"status":"/T/status"}}',
    '\uFEFF{"id":"T"}',
  ])('is DONE if only its spelling differs: %s', (body) => {
    expect(stateOf(200, body)).toBe('DONE');
  });

  test.each([
    '{"message":"Ａccount not found"}',
    '{"message":"Account not found\u200b"}',
    '{"message":"Account\u00a0not found!"}',
    '{"message":["Account not found"]}',
    '{"message":{"text":"Account not found"}}',
    '{"error":{"error":{"message":"Account not found"}}}',
    '{"errors":[{"message":"Account not found"},{"message":"Account not found"}]}',
    '{"errors":[[{"message":"Account not found"}]]}',
    '{"message":"Account not found","id":"T"}',
    '{"message":"Account not found","data":null,"x":1}',
    '{"message":"Account not found","status":"COMPLETED"}',
    '{"message":"Account not found","status":500}',
    '{"message":"Account not found","code":404}',
    '{"message":"Account not found","timestamp":"soon"}',
    '{"message":"Account not found","request_id":"executed"}',
    '{"code":"ACCOUNT_DEBITED"}',
    '{"code":"-AM04"}',
    '{"code":["AM04"]}',
    '[{"message":"Account not found"}]',
    '{"message":"Account not found","message":"Account not found"}',
  ])('is no refusal: %s', (body) => {
    expect(stateOf(422, body)).toBe('UNKNOWN');
  });
});

describe('the phrases of a refusal', () => {
  test('are those of the page for operators', () => {
    const page = readFileSync(new URL('../../../docs/operate.md', import.meta.url), 'utf8');
    const [, shown = ''] = /^\| why it was refused \| (.*?) \|/m.exec(page) ?? [];
    expect(shown.split(', ')).toEqual(phrases);
    expect(phrases.length).toBeLessThanOrEqual(25);
  });

  test.each(phrases)(
    'refuse as a clause and as a code, and are neither a receipt nor beside a success: %s',
    (phrase) => {
      const code = phrase.toUpperCase().replaceAll(' ', '_');
      expect(stateOf(422, JSON.stringify({ message: `The ${phrase}.` }))).toBe('REJECTED');
      expect(stateOf(422, JSON.stringify({ code }))).toBe('REJECTED');
      expect(stateOf(200, JSON.stringify({ id: code }))).toBe('UNKNOWN');
      const metadata = { narrative: phrase };
      expect(stateOf(200, JSON.stringify({ id: 'T', status: 'COMPLETED', metadata }))).toBe('UNKNOWN');
    },
  );

  test.each([
    'account dormant',
    'creditor account number locked',
    'no such account',
    'IBAN not valid',
    'unknown IBAN',
    'monthly limit used up',
    'transfer limit reached',
    'exceeds payment limit',
    'unsupported currency',
    'BIC not supported',
    'amount must be positive',
    'amount too large',
    'view not found',
    'not permitted',
    'unauthorised',
    'transfer refused',
  ])('are few; a similar text refuses nothing, but contradicts a success: %s', (text) => {
    const code = text.toUpperCase().replaceAll(' ', '_');
    expect(stateOf(422, JSON.stringify({ message: text }))).toBe('UNKNOWN');
    expect(stateOf(422, JSON.stringify({ code }))).toBe('UNKNOWN');
    expect(stateOf(200, JSON.stringify({ id: code }))).toBe('UNKNOWN');
    expect(stateOf(200, JSON.stringify({ id: `T.${text.replaceAll(' ', '.')}.9` }))).toBe('UNKNOWN');
    const metadata = { narrative: `The ${text}` };
    expect(stateOf(200, JSON.stringify({ id: 'T', status: 'COMPLETED', metadata }))).toBe('UNKNOWN');
    expect(classify(202, JSON.stringify({ note: text })).isAccepted).toBe(false);
  });
});

describe('the names of an answer', () => {
  test('change with the contract: whoever adds a member decides what it says beside a payment’s status', () => {
    const names = [transaction, details, transactionMetadata, transactionRequest, money, accountRef].map(
      ({ shape }) => Object.keys(shape).sort().join(' '),
    );
    expect(names).toEqual([
      'details id metadata other_account this_account uuid',
      'approved_by_ip_address approved_by_user_id cancelled_by_ip_address cancelled_by_user_id completed description new_balance paused_by_ip_address paused_by_user_id posted posted_by_ip_address posted_by_user_id status type value',
      'comments narrative tags where',
      'body challenge description end_date from resource_url start_date status transaction_ids',
      'amount currency',
      'account_id bank_id',
    ]);
  });

  test('are those of the contract’s records, and a known name does not make its value known', () => {
    const answer = (member: object) => JSON.stringify({ id: 'T', status: 'COMPLETED', ...member });
    for (const name of Object.keys(details.shape).filter((each) => /_by_/.test(each))) {
      const isStop = /^(cancelled|paused)_by_/.test(name);
      expect(stateOf(200, answer({ details: { [name]: 'U' } }))).toBe(isStop ? 'UNKNOWN' : 'DONE');
      expect(stateOf(200, answer({ details: { [name]: '' } }))).toBe('DONE');
      expect(stateOf(200, answer({ details: { [name]: 'rejected' } }))).toBe('UNKNOWN');
    }
    for (const name of Object.keys(transactionMetadata.shape)) {
      expect(stateOf(200, answer({ metadata: { [name]: 'a note' } }))).toBe('DONE');
      expect(stateOf(200, answer({ [name]: 'a note' }))).toBe('UNKNOWN');
    }
  });

  test.each(['challenge', 'details', 'type', 'metadata', 'account_id', 'resource_url', 'start_date'])(
    'need a status beside them: %s',
    (name) => {
      const values: Readonly<Record<string, unknown>> = {
        ...{ challenge: 'c-1', details: { type: 'TRANSFER' }, type: 'SEPA', metadata: { tags: 'a' } },
        ...{ account_id: 'payer', resource_url: '/T', start_date: '2026-01-15' },
      };
      const member = { [name]: values[name] };
      expect(stateOf(200, JSON.stringify({ id: 'T', ...member }))).toBe('UNKNOWN');
      expect(stateOf(200, JSON.stringify({ id: 'T', status: 'COMPLETED', ...member }))).toBe('DONE');
      expect(stateOf(200, JSON.stringify({ id: 'T', status: 'NOK2', ...member }))).toBe('UNKNOWN');
    },
  );
});

describe('an answer of any size', () => {
  test('is read in a time that grows no faster than it does, and not at all if it is too deep or too large', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const bodies = [
      `{"id":"T","data":${nested(60)}}`,
      nested(50_000),
      `{"id":"T","links":${nested(50_000)}}`,
      `{"id":"T",${Array.from({ length: 20_000 }, (_, n) => `"n${n}":1`).join()}}`,
      `{"id":"T","values":[${Array(50_000).fill('1').join()}]}`,
      ...['a', '_', 'already ', 'has been ', 'account not found. ', ' ', '0'].map((text) =>
        JSON.stringify({ message: text.repeat(50_000) }),
      ),
      `{"id":"${'9'.repeat(50_000)}"}`,
      `{"id":"T","amount":${'9'.repeat(50_000)}}`,
    ];
    for (const body of bodies) {
      for (const operation of [transfer, request]) expect(stateOf(200, body, { operation })).toBe('UNKNOWN');
      expect(stateOf(401, body)).toMatch(/^(RELEASED|UNKNOWN)$/);
      expect(stateOf(422, body)).toBe('UNKNOWN');
    }
  });

  test('has its unknown members reported in bounded form', () => {
    const names = Array.from({ length: 100 }, (_, n) => `${'n'.repeat(200)}\n${n}`);
    const { unknown } = classify(200, JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))));
    expect(unknown?.names.length).toBeLessThanOrEqual(20);
    for (const name of unknown?.names ?? []) expect(name).toMatch(/^[^\n]{1,60}$/);
  });
});

describe('a list of transaction requests', () => {
  const to = { bank_id: 'BK1', account_id: 'x' };
  const own = (status: string) => ({ status, body: { to, value: { currency: 'EUR', amount: 5 } } });
  const other = (status: string) => ({ status, body: { to: { account_id: 'other' } } });
  const dearer = (status: string) => ({ status, body: { to, value: { currency: 'EUR', amount: 6 } } });

  test.each([
    ['DONE', [own('INITIATED')]],
    [
      'DONE',
      [{ ...own('INITIATED'), body: { to: { account_id: 'x' }, value: { amount: 5, currency: 'eur' } } }],
    ],
    ['UNKNOWN', [{ status: 'INITIATED' }]],
    ['UNKNOWN', [{ status: 'COMPLETED', body: { to } }]],
    ['UNKNOWN', [{ status: 'COMPLETED', body: { value: { currency: 'EUR', amount: 5 } } }]],
    ['UNKNOWN', [{ status: 'COMPLETED', body: { to, value: { amount: 5 } } }]],
    ['UNKNOWN', [{ status: 'FAILED' }]],
    ['DONE', [other('FAILED'), own('INITIATED')]],
    ['DONE', [dearer('FAILED'), own('COMPLETED'), other('NO IDEA')]],
    ['REJECTED', [other('COMPLETED'), own('FAILED')]],
    ['UNKNOWN', [{ status: 'COMPLETED' }, own('FAILED')]],
    ['UNKNOWN', [{ status: 'FAILED' }, own('INITIATED')]],
    ['UNKNOWN', [own('FAILED'), own('INITIATED')]],
    ['UNKNOWN', [own('COMPLETED'), own('COMPLETED')]],
    ['UNKNOWN', [{ status: 'FAILED', body: { to, value: { amount: '5,00' } } }, own('COMPLETED')]],
    ['UNKNOWN', [other('COMPLETED')]],
    ['UNKNOWN', [dearer('COMPLETED')]],
    ['UNKNOWN', [other('COMPLETED'), dearer('COMPLETED')]],
    ['UNKNOWN', [own('PENDING')]],
    ['UNKNOWN', [own('KO')]],
    ['UNKNOWN', [{}]],
    ['UNKNOWN', [null]],
    ['UNKNOWN', ['COMPLETED']],
    ['UNKNOWN', [7, own('INITIATED')]],
  ])('is %s by the entry for this payment: %j', (state, entries) => {
    expect(stateOf(200, JSON.stringify({ 'transaction-requests': entries }), put)).toBe(state);
  });

  test.each([
    ['DONE', { status: 'OK', 'transaction-requests': [own('INITIATED')] }],
    ['REJECTED', { status: 'OK', 'transaction-requests': [own('RJCT')] }],
    ['UNKNOWN', { status: 'FAILED', 'transaction-requests': [own('INITIATED')] }],
    ['UNKNOWN', { count: 1, 'transaction-requests': [own('INITIATED')] }],
    ['UNKNOWN', { error: 'no', 'transaction-requests': [own('INITIATED')] }],
    ['DONE', [own('COMPLETED')]],
    ['DONE', { transactionRequest: own('COMPLETED') }],
    ['UNKNOWN', [{ status: 'COMPLETED' }]],
    ['UNKNOWN', { status: 'COMPLETED' }],
    ['UNKNOWN', []],
  ])('is %s with what is around it, and in another place if it repeats the payment: %j', (state, answer) => {
    expect(stateOf(200, JSON.stringify(answer), put)).toBe(state);
  });

  test('compares nothing with what was not sent', () => {
    const nothing = { toBankId: null, currency: null, amount: null, description: null };
    const entry = { ...own('INITIATED'), description: 'by the bank' };
    const answer = JSON.stringify({ 'transaction-requests': [entry] });
    expect(stateOf(200, answer, { ...put, sent: nothing })).toBe('DONE');
    expect(stateOf(200, answer, put)).toBe('UNKNOWN');
  });
});

describe('a payment’s key is free again', () => {
  test.each([
    [401, ''],
    [401, '{}'],
    [401, '{"code":401}'],
    [401, 'Unauthorized'],
    [401, '{"error":"Unauthorized","status":401,"timestamp":"2026-01-15T10:00:00Z"}'],
    [
      401,
      '{"timestamp":"2026-01-15T10:00:00.000+00:00","status":401,"error":"Unauthorized","message":"","path":"/v1/api/banks"}',
    ],
    [401, '{"error":"invalid_token","error_description":"Token verification failed"}'],
    [401, '{"errors":[{"code":"401","message":"Unauthorized","requestId":"4d2c"}]}'],
    [
      401,
      '{"code":401,"message":"OBP-20204: Bad JWT error. Expired JWT <- com.nimbusds.jwt.proc.BadJWTException: Expired JWT"}',
    ],
    [401, '{"error":"OBP-20214: OAuth2 Access Token is not recognised at this instance."}'],
    [429, '{"statusCode":429,"message":"Rate limit is exceeded. Try again in 3 seconds."}'],
    [403, '{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 01:23:45."}'],
  ])('after %i with %j: the caller was refused, or a gateway did not pass the request on', (status, body) => {
    expect(stateOf(status, body)).toBe('RELEASED');
  });

  const head = (body: string) => ({ 'content-length': String(Buffer.byteLength(body)) });
  test.each([
    'Basic realm="bank"',
    'Bearer',
    'Bearer realm="a, b", scope="pay", Basic realm="bank", charset="UTF-8"',
    'AzureApiManagementKey realm="https://bank.example/v1",name="Ocp-Apim-Subscription-Key",type="header"',
  ])('after a 401 that asks for credentials: %s', (challenge) => {
    expect(stateOf(401, '', { headers: { ...head(''), 'www-authenticate': challenge } })).toBe('RELEASED');
  });

  test.each<[body: string, headers: Record<string, string>]>([
    ['', { location: '/payments/T' }],
    ['{"status":401}', { location: '/payments/T' }],
    ['', { 'www-authenticate': 'PaymentConfirmation id="T"' }],
    ['', { 'www-authenticate': 'Basic realm="bank", PaymentConfirmation' }],
    ['', { 'www-authenticate': 'Bearer error="insufficient_user_authentication"' }],
    ['', { 'www-authenticate': 'Bearer realm="bank", error="invalid_token", error_description="paid"' }],
    ['', { 'content-encoding': 'gzip' }],
    ['{"status":401}', { 'content-type': 'application/json; charset=utf-7' }],
  ])('but not after a 401 with %j and %j', (body, headers) => {
    expect(stateOf(401, body, { headers: { ...head(body), ...headers } })).toBe('UNKNOWN');
  });

  test('but not after a 401 whose head does not say where it ends', () => {
    expect(stateOf(401, '', { headers: {} })).toBe('UNKNOWN');
    expect(stateOf(401, '', { headers: { 'content-length': '17' } })).toBe('UNKNOWN');
    expect(stateOf(401, 'Unauthorized', { headers: {} })).toBe('UNKNOWN');
    expect(stateOf(401, '{"error":"Unauthorized"}', { headers: {} })).toBe('RELEASED');
  });

  test.each([
    '<html>Log in</html>',
    '{"message":"no"}',
    '{"id":"E1","message":"no"}',
    'no',
    '{"message":"Unauthorized","detail":"Die Zahlung wurde bereits ausgeführt"}',
    '{"message":"Diese Zahlung wurde bereits ausgeführt"}',
    'The payment was executed before, and the session of the customer ended while it was',
    '{"code":"SCA_REQUIRED","message":"Unauthorized"}',
    '{"id":"T","challenge":{"id":"c"}}',
    '{"error":"Unauthorized","created":"2026-01-15T10:00:00Z"}',
    '{"error":"OK"}',
    '{"status":201}',
    '{"message":"OBP-20001: User not logged in. Authentication is required! The payment was executed."}',
    '{"message":"Payment already executed"}',
    '{"message":"The payment may have been booked"}',
    '{"status":"COMPLETED"}',
    '{"status":"PENDING"}',
    '{"id":"T"}',
    '{"data":{"transaction_id":"T"}}',
    '{"success":true}',
    '{"code":504}',
    '{"errors":[{"code":"DUPLICATE_PAYMENT"}]}',
    '{"status":"COMPLETED","status":"FAILED"}',
  ])('but not after a 401 that says anything else: %s', (body) => {
    expect(stateOf(401, body)).toBe('UNKNOWN');
  });
});

describe('a bank that the operator teaches', () => {
  const say = (body: string, bankWords: BankWords, status = 200) => stateOf(status, body, { bankWords });
  const lists = bankWordsOf(
    ['Posted', 'PENDING', 'Transfer created', 'A000', '1'],
    ['DENIED_BY_RULE', 'E51', 'Saldo insuficiente'],
  );

  test.each([
    ['DONE', '{"status":"POSTED"}'],
    ['DONE', 'posted'],
    ['DONE', '{"id":"TX","status":"PENDING"}'],
    ['DONE', '{"id":"TX","message":"Transfer created"}'],
    ['DONE', '{"code":"A000"}'],
    ['DONE', '{"id":"TX","status":1}'],
    ['REJECTED', '{"status":"denied by rule"}'],
    ['REJECTED', '{"code":"E51"}'],
    ['REJECTED', '{"id":"TX","status":"FAILED","message":"Saldo insuficiente"}'],
    ['UNKNOWN', '{"status":"POSTED","code":"E51"}'],
    ['UNKNOWN', '{"status":"POSTED","error":"x"}'],
    ['UNKNOWN', '{"id":"TX","status":-1}'],
  ])('says %s by words, codes and whole texts: %s', (state, body) => {
    expect(say(body, lists)).toBe(state);
  });

  test.each([
    ['REJECTED', '{"message":"Saldo insuficiente"}'],
    ['REJECTED', '{"message":"SALDO INSUFICIENTE. Account not found."}'],
    ['REJECTED', '{"code":"E51","message":"…"}'],
    ['UNKNOWN', '{"message":"Saldo insuficiente; pago enviado"}'],
    ['UNKNOWN', '{"code":"A000","message":"Account not found"}'],
    ['UNKNOWN', '{"status":"POSTED"}'],
  ])('says %s by them in a 4xx: %s', (state, body) => {
    expect(say(body, lists, 422)).toBe(state);
  });

  const status = (path: string, done: string[] = [], rejected: string[] = []) =>
    bankWordsOf(done, rejected, { statusPath: path === '.' ? [] : path.split('.') });
  const receipt = (path: string) => bankWordsOf([], [], { receiptPath: path === '.' ? [] : path.split('.') });
  const neutral = (path: string, ...paths: string[]) =>
    bankWordsOf([], [], {
      receiptPath: path.split('.'),
      neutralPaths: paths.map((each) => each.split('.')),
    });

  test.each<[string, string, BankWords, number?]>([
    ['DONE', '{"data":{"status":"COMPLETED","fee":1},"more":2}', status('data.status')],
    ['DONE', '{"data":{"status":"EXE"}}', status('data.status', ['EXE'])],
    ['DONE', '{"accepted":true}', status('accepted', ['true'], ['false'])],
    ['REJECTED', '{"accepted":false}', status('accepted', ['true'], ['false'])],
    ['DONE', '[{"state":"EXE"}]', status('0.state', ['EXE'])],
    ['DONE', 'EXE', status('.', ['EXE'])],
    ['DONE', '{"data":{"status":"COMPLETED"}}', status('data.status'), 202],
    ['REJECTED', '{"data":{"status":"RJCT","why":"x"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"PENDING"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"EXE"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":true}}', status('data.status')],
    ['UNKNOWN', '{"data":{}}', status('data.status')],
    ['UNKNOWN', '{"status":"COMPLETED"}', status('data.status')],
    ['UNKNOWN', '', status('data.status')],
    ['UNKNOWN', '{}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"COMPLETED","error":"x"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"COMPLETED"},"errorCode":"E1"}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"COMPLETED"},"is_rejected":true}', status('data.status')],
    ['DONE', '{"data":{"status":"COMPLETED","error":null,"errors":[]}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"COMPLETED","status":"FAILED"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"COMPLETED"}}', status('data.status'), 206],
    ['UNKNOWN', '{"__proto__":{"status":"COMPLETED"}}', status('constructor.name', ['Object'])],
    ['DONE', '{"data":{"id":"T"}}', receipt('data.id')],
    [
      'DONE',
      '{"data":{"id":"T","status":"COMPLETED","amount":5,"type":"SEPA"},"links":[]}',
      receipt('data.id'),
    ],
    ['DONE', '{"data":{"id":"T"},"success":true,"error":null,"errors":[]}', receipt('data.id')],
    ['DONE', `{"data":{"id":"${sent.trackId}"}}`, receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T","fee":1}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"more":{"x":1}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"success":"no"}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"messages":["Payment rejected"]}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"lifecycle":"PENDING"}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T","amount":6}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T","details":{"status":"NOK2"}}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"x"}}', receipt('data.id')],
    ['UNKNOWN', '[{"id":"T"},{"id":"U"}]', receipt('0.id')],
    ['DONE', '{"data":{"id":"T","fee":1},"more":{"x":{"y":2}}}', neutral('data.id', 'data.fee', 'more')],
    ['DONE', '{"data":{"id":"T"},"more":{"x":{"y":2}}}', neutral('data.id', 'more.x.y')],
    ['DONE', '[{"id":"T"},{"note":"N"}]', neutral('0.id', '1')],
    [
      'UNKNOWN',
      '{"data":{"id":"T","fee":1},"more":{"x":{"y":2},"z":1}}',
      neutral('data.id', 'data.fee', 'more.x'),
    ],
    ['UNKNOWN', '{"data":{"id":"T","fees":1}}', neutral('data.id', 'data.fee')],
    ...[
      '"success":"no"',
      '"ok":false',
      '"was_executed":"N"',
      '"messages":["Payment rejected"]',
      '"lifecycle":"PENDING"',
      '"info":{"texts":[{"text":"Your payment is being processing"}]}',
      '"note":"The payment was not executed"',
      '"result":"false"',
      '"status":false',
      '"reasons":["AM04"]',
      '"check":{"errors":[{"code":1}]}',
      '"hint":"In progress"',
      '"paymentExecuted":false',
      '"executed":"nein"',
      '"text":"The transfer wasn’t executed"',
      '"lifecycle":"REVERSED"',
      '"lifecycle":"notExecuted"',
      '"lifecycle":"ON_HOLD"',
      '"reasonCode":"AM05"',
      '"code":500',
      '"account_id":"somebody"',
      '"bank_id":"BK9"',
      '"this_account":{"id":"somebody"}',
      '"created_at":"2021-03-01T10:00:00Z"',
    ].map((member): [string, string, BankWords] => [
      'UNKNOWN',
      `{"data":{"state":"EXE"},${member}}`,
      status('data.state', ['EXE']),
    ]),
    [
      'DONE',
      '{"data":{"state":"EXE","fee":1},"urgent":false,"note":"Rent","list":["a"]}',
      status('data.state', ['EXE']),
    ],
    ['DONE', '{"data":{"state":"EXE"},"description":"Rent"}', status('data.state', ['EXE'])],
    [
      'DONE',
      '{"data":{"state":"EXE","account_id":"payer","this_account":{"id":"payer","kind":"k"},"created":1679090539},"paid":"2026-01-15","code":200,"payer":{"account_id":"y"}}',
      status('data.state', ['EXE']),
    ],
    ['UNKNOWN', '{"data":{"status":"RJCT","created":"2021-03-01"}}', status('data.status')],
    ['UNKNOWN', '{"data":{"status":"RJCT"},"executed":true}', status('data.status')],
    ...[
      '"message":"The payment was executed"',
      '"messages":["Already executed; cannot be executed again"]',
      '"reason":{"code":"AM05"}',
      '"result":"success"',
    ].map((member): [string, string, BankWords] => [
      'UNKNOWN',
      `{"data":{"state":"REF"},${member}}`,
      status('data.state', [], ['REF']),
    ]),
    ...[
      '"message":"Your payment could not be processed"',
      '"reason":{"code":"AM04"}',
      '"message":"Deckung fehlt"',
    ].map((member): [string, string, BankWords] => [
      'REJECTED',
      `{"data":{"state":"REF"},${member}}`,
      status('data.state', [], ['REF']),
    ]),
    ['DONE', '[{"id":"T"}]', receipt('0.id')],
    ['DONE', '"T-1"', receipt('.')],
    ['UNKNOWN', '{"data":{"id":""}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"error"}}', receipt('data.id')],
    ['UNKNOWN', '{"id":"T"}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T","status":"FAILED"}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T","status":"PENDING"}}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"success":false}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"},"message":"Insufficient funds"}', receipt('data.id')],
    ['UNKNOWN', '{"data":{"id":"T"}}', receipt('data.id'), 202],
  ])('says %s by a path: %s', (state, body, bankWords, code) => {
    expect(say(body, bankWords, code)).toBe(state);
  });

  test('may name the entry of a list of requests that names no payment', () => {
    const body = '{"transaction-requests":[{"id":"T1","status":"COMPLETED","start_date":"2026-01-15"}]}';
    expect(stateOf(200, body, put)).toBe('UNKNOWN');
    const path = { bankWords: receipt('transaction-requests.0.id') };
    expect(stateOf(200, body, { ...put, ...path })).toBe('DONE');
    expect(stateOf(200, body.replace('COMPLETED', 'PENDING'), { ...put, ...path })).toBe('UNKNOWN');
    expect(stateOf(200, body.replace('T1', 'x'), { ...put, ...path })).toBe('UNKNOWN');
    // A path that begins with `transaction-requests` applies only to putTransactionsRequestAccount.
    expect([stateOf(200, '{"id":"T"}', path), stateOf(200, body, path)]).toEqual(['DONE', 'UNKNOWN']);
  });

  test('is read by the rules in a 4xx, whatever the path', () => {
    expect(say('{"message":"Account not found"}', status('data.status'), 404)).toBe('REJECTED');
    expect(say('{"data":{"status":"COMPLETED"}}', status('data.status'), 404)).toBe('UNKNOWN');
  });

  test('shows the receipt that a path names', () => {
    const bankWords = bankWordsOf([], [], { receiptPath: ['data', 'id'], statusPath: ['data', 'status'] });
    const { answer } = classify(200, '{"data":{"id":"T","status":"COMPLETED"}}', { bankWords });
    expect(readStoredResponse(transfer, answer)).toEqual({ id: 'T', status: 'COMPLETED' });
  });
});

describe('evidence has to be of this payment', () => {
  test.each([
    '{"id":"T","status":"COMPLETED","account_id":"somebody"}',
    '{"id":"T","status":"COMPLETED","bank_id":"BK9"}',
    '{"id":"T","status":"COMPLETED","this_account":"somebody"}',
    '{"id":"T","status":"COMPLETED","this_account":{"id":"payer","bank_id":"BK9"}}',
    '{"status":"COMPLETED","other_account":"c-17"}',
    '{"status":"COMPLETED","other_account":{"id":"c-17"},"this_account":"payer"}',
    '{"id":"T","status":"COMPLETED","created":"2021-03-01T10:00:00Z"}',
    '{"id":"T","created":"2026-01-13T09:59:00Z"}',
    '{"id":"T","created":"2026-01-12"}',
    '{"id":"T","status":"COMPLETED","start_date":"2021-03-01"}',
    '{"id":"T","status":"COMPLETED","end_date":"1.3.2021"}',
    '{"id":"T","details":{"status":"COMPLETED","posted":"2021-03-01T10:00:00+01:00[Europe/Paris]"}}',
    '{"id":"T","details":{"status":"COMPLETED","completed":1614592800}}',
    '{"id":"T","_links":{"status":{"href":"/T/status"}}}',
    '{"id":"T","links":[{"rel":"status","href":"/T/status"}]}',
    ...['x', 'X', 'payer', 'BK1', 'BK0', '5', '5.00', 'EUR', 'Rent', 'owner', 'auth-1', sent.trackId].map(
      (id) => `{"id":"${id}"}`,
    ),
    ...[
      'TIMEOUT',
      'timed_out',
      'BAD_REQUEST',
      'badRequest',
      'KO',
      'Nok',
      'PaymentFailed',
      'internal_server_error',
      'unsuccessful',
      'NOT_BOOKED',
      'voided',
      'on-hold',
      'AM05',
    ].map((id) => `{"id":"${id}"}`),
    '{"id":404}',
    '{"id":"503"}',
    '{"id":"00000000-0000-0000-0000-000000000000"}',
    '{"id":"T","transaction_ids":["T1","x"]}',
    '{"id":"<b>T</b>"}',
    '{"id":"T","status":"COMPLETED","metadata":{"narrative":"The payment was not executed"}}',
    '{"id":"T","status":"COMPLETED","challenge":"AM04: see the text"}',
  ])('this answer proves nothing: %s', (body) => {
    expect(stateOf(200, body)).toBe('UNKNOWN');
  });

  test.each([
    '{"id":"T","status":"COMPLETED","account_id":"payer","bank_id":"BK0","this_account":"payer"}',
    '{"id":"T","status":"COMPLETED","account_id":null,"this_account":""}',
    '{"id":"T","status":"COMPLETED","this_account":{"id":"payer","bank_id":"BK0"}}',
    '{"id":"T","status":"COMPLETED","other_account":"c-17"}',
    '{"status":"COMPLETED","other_account":"x"}',
    '{"status":"COMPLETED","other_account":"c-17","amount":5}',
    '{"status":"COMPLETED","other_account":{"id":"c-17"},"to":{"account_id":"x"}}',
    '{"id":"T","created":"2026-01-13T10:00:00Z"}',
    '{"id":"T","created":"2026-01-13"}',
    '{"id":"T","status":"COMPLETED","end_date":"2027-01-01"}',
    '{"id":"T","details":{"status":"COMPLETED","posted":"2026-01-15T10:00:00+01:00[Europe/Paris]"}}',
    '{"id":"T404"}',
    '{"id":"1"}',
    '{"id":"00000000-0000-0000-0000-000000000001"}',
  ])('this answer proves the execution: %s', (body) => {
    expect(stateOf(200, body)).toBe('DONE');
  });

  test('an id that the operator lists as a refusal is no receipt', () => {
    const bankWords = bankWordsOf([], ['DUP-1']);
    expect(stateOf(200, '{"id":"dup 1"}'.replace(' ', '-'), { bankWords })).toBe('UNKNOWN');
    expect(stateOf(200, '{"id":"dup-2"}', { bankWords })).toBe('DONE');
  });
});

describe('what is reported of an answer', () => {
  test.each<[body: string, names: string[], hint: RegExp]>([
    ['{"data":{"id":"T","x":1}}', ['data.id', 'data.x'], /^BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT$/],
    ['{"id":"T","compliance":"hold"}', ['compliance'], /^BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT$/],
    ['{"id":"T","status":"NOK2"}', ['status'], /^BANK_PAYMENT_DONE or BANK_PAYMENT_REJECTED$/],
    ['NOK2', [], /^BANK_PAYMENT_DONE or BANK_PAYMENT_REJECTED$/],
    ['{"id":"T","id":"T"}', [], /^none/],
  ])('are its unknown names and the setting that helps: %s', (body, names, hint) => {
    const { unknown, drifts } = classify(200, body);
    expect(unknown).toEqual({ names, hint: expect.stringMatching(hint) });
    expect(drifts).toContain('payment-answer');
  });

  test('is the finished setting for a known code beside an unknown text', () => {
    expect(classify(422, '{"code":"AC01","message":"Konto unbekannt"}').unknown).toEqual({
      names: ['message'],
      hint: 'BANK_PAYMENT_REJECTED=AC01 if AC01 always means that nothing was executed',
      code: 'AC01',
    });
    const bankWords = bankWordsOf([], ['AC01']);
    expect(stateOf(422, '{"code":"AC01","message":"Konto unbekannt"}', { bankWords })).toBe('REJECTED');
  });

  test.each([
    [401, '{"reason":"Sitzung unbekannt"}'],
    [429, 'Zu viele'],
  ])('is the setting for refusals before the payment is read: %i %s', (status, body) => {
    expect(classify(status, body)).toMatchObject({
      state: 'UNKNOWN',
      unknown: { names: [], hint: 'BANK_PAYMENT_NOT_SENT' },
    });
  });

  test.each([
    ['its code', '{"code":"E51","message":"Saldo insuficiente"}', 'E51'],
    ['no more of it than 60 characters', `{"code":"${'E'.repeat(99)}","message":"x"}`, 'E'.repeat(60)],
    ['no code: the status again', '{"code":422,"message":"Saldo insuficiente"}', undefined],
  ])('of a refusal has %s', (_, body, code) => {
    expect(classify(422, body).unknown?.code).toBe(code);
  });

  test('is the path of each member beside a receipt', () => {
    const bankWords = bankWordsOf([], [], { receiptPath: ['data', 'id'] });
    expect(classify(200, '{"data":{"id":"T","fee":1},"meta":{"a":1}}', { bankWords }).unknown).toEqual({
      names: ['data.fee', 'meta'],
      hint: 'BANK_PAYMENT_NEUTRAL or BANK_PAYMENT_STATUS',
    });
  });

  test('is the setting for refusals after a 4xx', () => {
    expect(classify(422, '{"message":"Saldo insuficiente","x":1}').unknown).toEqual({
      names: ['message', 'x'],
      hint: 'BANK_PAYMENT_REJECTED',
    });
  });

  test.each([
    [202, '{"id":"T"}'],
    [200, '{"id":"T","status":"PENDING"}'],
    [200, '<html></html>'],
    [409, '{"message":"no"}'],
    [500, '{"message":"no"}'],
    [422, '<html></html>'],
  ])('is nothing if no setting would help: %i %s', (status, body) => {
    const { state, unknown } = classify(status, body);
    expect({ state, unknown }).toEqual({ state: 'UNKNOWN', unknown: undefined });
  });

  test.each([
    [202, '{"id":"TX","status":"ACCEPTED"}'],
    [200, '{"id":"TX","status":"PENDING"}'],
  ])('is that it was accepted: %i %s', (status, answer) => {
    expect(classify(status, answer)).toMatchObject({ state: 'UNKNOWN', answer, isAccepted: true });
  });

  test.each([
    [200, '{"status":"PENDING","error":"x"}'],
    [202, '{"error":"no"}'],
    [202, '{"status":"FAILED","status":"ACCEPTED"}'],
    [200, '{"id":"T","status":"NOK2"}'],
  ])('is not that it was accepted: %i %s', (status, body) => {
    expect(classify(status, body)).toMatchObject({ state: 'UNKNOWN', answer: null, isAccepted: false });
  });

  test.each<[body: string, drifts: string[], headers?: Record<string, string>]>([
    [`{"transaction-requests":[{"status":"INITIATED","body":${asSent}}]}`, []],
    [`{"transaction_requests":[{"status":"INITIATED","body":${asSent}}]}`, ['envelope']],
    [`[{"status":"COMPLETED","body":${asSent}}]`, ['envelope']],
    [`{"status":"COMPLETED","body":${asSent}}`, ['envelope']],
    ['OK', ['empty-body']],
    ['', ['empty-body']],
    [`\uFEFF{"transaction-requests":[{"status":"INITIATED","body":${asSent}}]}`, ['byte-order-mark']],
    [
      `{"transaction-requests":[{"status":"INITIATED","body":${asSent}}]}`,
      ['content-type'],
      { 'content-type': 'text/html' },
    ],
  ])('are its deviations from the contract: %s', (body, drifts, headers) => {
    const more = { ...put, ...(headers && { headers }) };
    expect(classify(200, body, more)).toMatchObject({ state: 'DONE', drifts });
  });
});

describe('the stored parts', () => {
  test.each([
    ['{"id":"TX","status":"BOOKED","amount":5.00}', '{"id":"TX","status":"BOOKED"}'],
    ['\uFEFF{"id":"TX"}', '{"id":"TX"}'],
    ['OK', '{"status":"OK"}'],
    ['{}', null],
    ['', null],
    [`{"id":"${secret}-1"}`, '{"id":"[redacted]-1"}'],
  ])('of %j for a transfer are %j', (body, answer) => {
    expect(classify(200, body)).toMatchObject({ state: 'DONE', answer });
  });

  test('of a list of transaction requests keep every digit', () => {
    const body =
      '{"transaction-requests":[{"status":"INITIATED","body":{"to":{"account_id":"x"},"value":{"currency":"EUR","amount":5.000000000000000000}}}]}';
    const { answer } = classify(200, body, put);
    expect(readStoredResponse(request, answer)).toEqual([
      {
        status: 'INITIATED',
        body: { to: { account_id: 'x' }, value: { currency: 'EUR', amount: '5.000000000000000000' } },
      },
    ]);
  });

  test('are bounded, can be read again, and are kept for DONE and for what was accepted alone', () => {
    const entry = fc.record({
      status: fc.constantFrom('COMPLETED', 'x'),
      resource_url: fc.constant('x'.repeat(900)),
    });
    const huge = fc
      .array(entry, { maxLength: 60 })
      .map((list) => JSON.stringify({ 'transaction-requests': list }));
    const usual = fc.constantFrom('OK', '{"id":"T"}', '{"status":"PENDING"}');
    const anyBody = fc.oneof(fc.string(), fc.json(), huge, usual);
    const anyStatus = fc.integer({ min: 200, max: 599 });
    const either = fc.constantFrom(transfer, request);
    fc.assert(
      fc.property(anyStatus, anyBody, either, (status, body, operation) => {
        const { state, answer, isAccepted } = classify(status, body, { operation });
        if (status >= 300) expect(state).not.toBe('DONE');
        expect(answer?.length ?? 0).toBeLessThan(33_000);
        if (answer === null) return;
        expect(state === 'DONE' || isAccepted).toBe(true);
        expect(readStoredResponse(operation, answer)).not.toBeNull();
      }),
    );
  });
});
