import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { classifyPaymentResponse, defaultRejectedStatuses } from '../../src/payments/classify-response.ts';
import { readStoredResponse } from '../../src/payments/stored-response.ts';

const transfer = operations.postMakeTransaction;
const request = operations.putTransactionsRequestAccount;
const secret = 'the-subscription-key';

function classify(
  status: number,
  body: string | Buffer,
  operation: typeof transfer | typeof request = transfer,
  rejectedStatuses: ReadonlySet<number> = defaultRejectedStatuses,
) {
  return classifyPaymentResponse(
    { status, body: Buffer.from(body) },
    { operation, rejectedStatuses, secrets: [secret] },
  );
}

const words = fc.constantFrom('FAILED', 'REJECTED', 'DECLINED', 'CANCELLED', 'CANCELED');
const cases = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.toLowerCase(),
  (text: string) => `${text.slice(0, 1)}${text.slice(1).toLowerCase()}`,
);
const failure = fc.tuple(words, cases).map(([word, change]) => change(word));
const stems = fc.constantFrom(
  ...'fail, reject, declin, cancel, error, denied, refus, insufficient, unavailable'.split(', '),
);
const mention = fc.oneof(
  fc
    .tuple(failure, fc.constantFrom('PAYMENT_', 'Payment', 'not ', '0 '), fc.boolean())
    .map(([word, other, isFirst]) => (isFirst ? `${word} ${other}`.trim() : `${other}${word}`))
    .filter((text) => !/^(failed|rejected|declined|cancell?ed)$/i.test(text)),
  fc.tuple(stems, cases).map(([word, change]) => `No ${change(word)}x`),
);
const holdsFailure = (text: string) =>
  /fail|reject|declin|cancel|error|denied|refus|insufficient|unavailable|"(ok|success|successful|succeeded)"/i.test(
    text,
  );
const holdsError = (text: string) => /error|fault/i.test(text);
const json = fc
  .jsonValue()
  .map((value) => JSON.stringify(value))
  .filter((text) => !holdsFailure(text) && !holdsError(text));
const object = fc
  .dictionary(fc.string(), fc.jsonValue())
  .map((value) => JSON.stringify(value))
  .filter((text) => !holdsFailure(text) && !holdsError(text));
const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
/** Text of letters, digits and spaces that is no JSON and names no failure. */
const plain = (minLength: number, maxLength: number) =>
  fc
    .stringMatching(new RegExp(`^[A-Za-zé][A-Za-z0-9é ]{${minLength},${maxLength}}$`))
    .filter((text) => !isJson(text.trim()) && !holdsFailure(text));
const anything = fc.oneof(json, plain(0, 200), fc.constant(''), fc.constant('<html>No</html>'));
const success = fc.integer({ min: 200, max: 299 });
const done = success.filter((status) => status !== 202);
const named = (text: string) => fc.constantFrom(...text.split(', ').map(Number));

interface Row {
  readonly status: fc.Arbitrary<number>;
  readonly body: fc.Arbitrary<string | Buffer>;
}

/** What each line of the table in docs/payments.md stands for, by its first two cells. */
const rows: Readonly<Record<string, Row>> = {
  '2xx | HTML, or anything that is not UTF-8': {
    status: success,
    body: fc.oneof(
      anything.map((text) => `<!doctype html><p>${text}`),
      fc.constantFrom('<html></html>', '  <p>OK'),
      fc.constant(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])),
    ),
  },
  '2xx | text that is no JSON, and longer than 64 bytes': { status: success, body: plain(64, 300) },
  '2xx | text that begins like JSON and is none': {
    status: success,
    body: fc.tuple(object, fc.nat()).map(([text, at]) => text.slice(0, 1 + (at % (text.length - 1)))),
  },
  '2xx | a status that is a word of failure': {
    status: success,
    body: fc
      .tuple(failure, object)
      .chain(([word, others]) =>
        fc.constantFrom(
          word,
          JSON.stringify(word),
          JSON.stringify({ ...JSON.parse(others), status: word }),
          JSON.stringify({ id: 'TX', status: ` ${word} ` }),
          JSON.stringify({ Status: word }),
          JSON.stringify({ state: word, error: 'no' }),
          JSON.stringify({ RESULT: word, state: null }),
          JSON.stringify([{ status: word }, { status: word }]),
        ),
      ),
  },
  '2xx | a status that mentions a failure, wherever it stands': {
    status: success,
    body: fc.oneof(
      mention.chain((text) =>
        fc.constantFrom(
          text,
          JSON.stringify({ status: text }),
          JSON.stringify({ id: 'TX', State: text }),
          JSON.stringify({ status: 'OK', result: text }),
        ),
      ),
      fc
        .oneof(mention, failure)
        .chain((text) =>
          fc.constantFrom(
            JSON.stringify({ status: 'BOOKED', state: text }),
            JSON.stringify([text]),
            JSON.stringify({ id: 'TX', statuses: { status: [text] } }),
            JSON.stringify({ transaction: { status: text } }),
            JSON.stringify({ transactionStatus: text }),
          ),
        ),
    ),
  },
  '2xx | an error without a status of success, or `"success": false`': {
    status: success,
    body: fc
      .oneof(
        fc
          .tuple(
            fc.constantFrom('error', 'errors', 'fault', 'Error'),
            fc.constantFrom<unknown>('no', ['no'], { code: 7 }, true, 500),
            fc.constantFrom<object>(
              {},
              { status: 500 },
              { id: null },
              { id: 'TX' },
              { value: null },
              { message: 'no' },
              { status: 'PENDING' },
              { status: 'OK', state: 'PENDING' },
            ),
          )
          .map(([name, value, more]) => ({ ...more, [name]: value })),
        fc
          .tuple(fc.constantFrom('success', 'Success', 'ok'), fc.constantFrom<unknown>(false, 'false', 0))
          .map(([name, value]) => ({ id: 'TX', [name]: value })),
      )
      .chain((object) =>
        fc.constantFrom<unknown>(object, [object], { data: object }).map((value) => JSON.stringify(value)),
      ),
  },
  '202 | anything else': { status: fc.constant(202), body: fc.oneof(json, plain(0, 60), fc.constant('')) },
  '2xx | nothing, or white space': {
    status: done,
    body: fc.constantFrom('', ' ', '\r\n', '\uFEFF', '\uFEFF '),
  },
  '2xx | any other JSON value': {
    status: done,
    body: fc.tuple(json, fc.constantFrom('', '\uFEFF', '\n')).map(([text, before]) => before + text),
  },
  '2xx | any other text of up to 64 bytes': {
    status: done,
    body: plain(0, 60).filter((text) => Buffer.byteLength(text.trim()) <= 64),
  },
  '401 | anything': { status: fc.constant(401), body: anything },
  '400, 403, 404, 405, 413, 415, 422 | anything': {
    status: named('400, 403, 404, 405, 413, 415, 422'),
    body: anything,
  },
  '402, 429 | a JSON object': { status: named('402, 429'), body: object },
  '402, 429 | anything else': {
    status: named('402, 429'),
    body: fc.oneof(plain(0, 100), fc.constantFrom('', '[]', '"no"', 'null', '7', '<p>{}', '{"a":')),
  },
  'any other | anything': {
    status: fc.integer({ min: 300, max: 599 }).filter((status) => !defaultRejectedStatuses.has(status)),
    body: anything,
  },
};

/** The table's lines: the first two cells, and the payment's state. */
const page = readFileSync(join(import.meta.dirname, '../../docs/payments.md'), 'utf8');
const [, section = ''] = page.split("### What the bank's answer means");
const documented = [...section.matchAll(/^\| (\d.*|any other .*) \| ([\w]+)[^|]*\|$/gm)].map(
  ([, what = '', state = '']) => ({ what, state: state === 'none' ? 'RELEASED' : state }),
);

describe('the table of what the bank means, in docs/payments.md', () => {
  test('has no line but those that are held here', () => {
    expect(documented.map(({ what }) => what)).toEqual(Object.keys(rows));
  });

  test.each(documented)('says the truth: $what is $state', ({ what, state }) => {
    const { status, body } = rows[what] ?? expect.unreachable(what);
    fc.assert(
      fc.property(status, body, fc.constantFrom(transfer, request), (status, body, operation) => {
        expect(classify(status, body, operation).state).toBe(state);
      }),
      { numRuns: 300 },
    );
  });
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
    ['{"value":{"amount":1}}', null],
    ['{}', null],
    ['null', null],
    ['', null],
    [`{"id":"${secret}-1"}`, '{"id":"[redacted]-1"}'],
    [`{"status":"${'x'.repeat(5000)}"}`, `{"status":"${'x'.repeat(4000)}"}`],
  ])('of %j for a transfer are %j', (body, answer) => {
    expect(classify(200, body)).toEqual({ state: 'DONE', answer });
  });

  test.each([
    ['{"transaction-requests":[{"status":"S","other":1}]}', [{ status: 'S' }]],
    ['{"transaction-requests":[]}', []],
    [
      '{"transaction-requests":[{"body":{"value":{"amount":12345678901234567890.10}}}]}',
      [{ body: { value: { amount: '12345678901234567890.10' } } }],
    ],
    ['[]', []],
    ['{"status":"S"}', [{ status: 'S' }]],
    ['{"transaction-requests":{"status":"S"}}', [{ status: 'S' }]],
    ['OK', [{ status: 'OK' }]],
    ['{}', null],
    ['7', null],
  ])('of %j for a transaction request are %j', (body, expected) => {
    const { state, answer } = classify(200, body, request);
    expect(state).toBe('DONE');
    expect(readStoredResponse(request, answer)).toEqual(expected);
  });

  test('of what was accepted for later are kept too', () => {
    expect(classify(202, '{"id":"TX","status":"ACCEPTED"}')).toEqual({
      state: 'UNKNOWN',
      answer: '{"id":"TX","status":"ACCEPTED"}',
    });
  });

  test('of a record from before answers were cut down are read as well', () => {
    expect(readStoredResponse(transfer, '{"id":"TX","amount":1.10}')).toEqual({ id: 'TX', amount: '1.10' });
  });
});

describe('one entry of a list that went well', () => {
  test('is enough: it may hold earlier requests too', () => {
    const body = '{"transaction-requests":[{"status":"FAILED"},{"status":"INITIATED"}]}';
    expect(classify(200, body, request).state).toBe('DONE');
    expect(classify(200, body.replace('INITIATED', 'failed'), request).state).toBe('REJECTED');
  });
});

describe('what a bank says in a success that is none', () => {
  test.each([
    ['UNKNOWN', '{"status":"error","error":"Insufficient funds"}'],
    ['UNKNOWN', '{"status":"error","message":"no"}'],
    ['UNKNOWN', '{"status":"FAILURE"}'],
    ['UNKNOWN', '{"status":"DENIED"}'],
    ['UNKNOWN', '{"status":"TransactionRejected"}'],
    ['UNKNOWN', '{"id":"TX","error":"Insufficient funds"}'],
    ['UNKNOWN', 'ERROR'],
    ['UNKNOWN', 'Service Unavailable'],
    ['REJECTED', '{"state":"REJECTED"}'],
    ['REJECTED', '{"Status":"FAILED"}'],
    ['DONE', '{"status":"COMPLETED","error":"none"}'],
    ['DONE', '{"id":"TX","description":"Refused, cancelled: FAILED","success":true}'],
    ['DONE', '{"error":null,"success":null}'],
  ])('is %s for %s', (state, body) => {
    expect(classify(200, body).state).toBe(state);
  });

  test.each([
    ['UNKNOWN', '{"status":"FAILED","transaction-requests":[]}'],
    ['UNKNOWN', '{"status":"REJECTED","transaction-requests":[{"id":"TR","status":"INITIATED"}]}'],
    ['UNKNOWN', '{"success":false,"transaction-requests":[{"id":"TR"}]}'],
    ['UNKNOWN', '{"transaction-requests":"FAILED"}'],
    ['UNKNOWN', '{"transaction-requests":["FAILED"]}'],
    ['REJECTED', '{"transaction-requests":{"status":"FAILED"}}'],
    ['DONE', '{"status":"OK","transaction-requests":[{"status":"FAILED"},{"status":"INITIATED"}]}'],
  ])('to a transaction request is %s for %s', (state, body) => {
    expect(classify(200, body, request).state).toBe(state);
  });

  test('however deep it is', () => {
    const deep = `${'['.repeat(5000)}"FAILED"${']'.repeat(5000)}`;
    expect(classify(200, deep).state).toBe('UNKNOWN');
  });
});

describe('a bank that means otherwise', () => {
  const statuses = new Set([400, 409]);

  test('refuses with the statuses that are configured, and no others', () => {
    expect(classify(409, '{"message":"no"}', transfer, statuses).state).toBe('REJECTED');
    expect(classify(400, '', transfer, statuses).state).toBe('REJECTED');
    for (const status of [401, 402, 403, 422, 429])
      expect(classify(status, '{"message":"no"}', transfer, statuses).state).toBe('UNKNOWN');
  });

  test('has to say so itself with a status that is none of the plain ones', () => {
    expect(classify(409, '<p>Conflict</p>', transfer, statuses).state).toBe('UNKNOWN');
  });
});

describe('an answer that would take too long to parse', () => {
  const values = `{"id":"TX","status":"DONE","values":[${Array(300_000).fill('1').join()}]}`;
  const names = `{"id":"TX",${Array.from({ length: 50_000 }, (_, n) => `"n${n}":1`).join()}}`;

  test.each([
    ['values', values],
    ['names', names],
  ])('is not read, and says nothing of how the payment ended: many %s', (_, body) => {
    for (const status of [200, 201, 402, 429])
      expect(classify(status, body)).toEqual({ state: 'UNKNOWN', answer: null });
    expect(classify(422, body)).toEqual({ state: 'REJECTED', answer: null });
    expect(classify(401, body)).toEqual({ state: 'RELEASED', answer: null });
  });
});
