import { afterAll, describe, expect, test } from 'vitest';
import {
  brokenValueIn,
  type Drift,
  parseResponse,
  readAnswer,
  validateResponse,
} from '../../src/bank/answer.ts';
import { contentOf, ErrorInSuccess, errorWords } from '../../src/bank/tolerance.ts';
import { parseExactJson } from '../../src/contract/exact-json.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient } from '../support/bank-client.ts';
import { canaries } from '../support/sample-calls.ts';

const { getCustomer, getBranches, getTransaction, getAccountsScope } = operations;

const details = (operation: Operation) => ({ operation: operation.id, status: 200, trackId: 'T' });

/** Compares an answer's text with an operation. */
const check = <T extends Operation>(operation: T, text: string) =>
  validateResponse(operation, parseExactJson(text), details(operation)).answer;

/** The error in place of a value, and its description of the place. */
const brokenAt = (operation: Operation, place: string, what: string) =>
  expect.objectContaining({
    name: 'BankqlError',
    message: `The bank's answer to ${operation.id} breaks the contract at "${place}": ${what}.`,
    extensions: {
      code: 'BANK_BAD_RESPONSE',
      operation: operation.id,
      status: 200,
      trackId: 'T',
      retryable: false,
    },
  });
const expected = (type: string, received: string) => `Invalid input: expected ${type}, received ${received}`;

describe('where the bank breaks the contract, an error stands in the value’s place and the siblings stay', () => {
  test.each([
    ['a boolean for a text', '{"legal_name":true,"email":"e"}', 'legal_name', expected('string', 'boolean')],
    ['a fraction for a text', '{"legal_name":1.5,"email":"e"}', 'legal_name', expected('string', 'number')],
    [
      'an integer for a text that a double cannot hold',
      '{"legal_name":9007199254740993,"email":"e"}',
      'legal_name',
      expected('string', 'number'),
    ],
    [
      'an object for a text',
      '{"email":"e","legal_name":{"x":1}}',
      'legal_name',
      expected('string', 'object'),
    ],
    ['a text for a list', '{"email":"e","metadata":"B"}', 'metadata', expected('array', 'string')],
    ['a text for an object', '{"email":"e","face_image":"x"}', 'face_image', expected('object', 'string')],
  ])('%s', (_, text, place, what) => {
    const answer = check(getCustomer, text);
    expect(answer).toEqual({ email: 'e', [place]: brokenAt(getCustomer, place, what) });
  });

  test('within a list: the entry that is none, not the list', () => {
    expect(check(getCustomer, '{"bank_id":["A",true,null,"B"],"email":"e"}')).toEqual({
      email: 'e',
      bank_id: [
        'A',
        brokenAt(getCustomer, 'bank_id.1', expected('string', 'boolean')),
        brokenAt(getCustomer, 'bank_id.2', expected('string', 'null')),
        'B',
      ],
    });
  });

  test('within a list of records: the field, at its depth', () => {
    const text = `{"branches":[
      {"acceptsDeposits":true,"name":"one","location":{"latitude":"north","longitude":33}},
      {"name":"two","meta":{}},
      {"acceptsDeposits":false,"name":"three"}]}`;
    expect(check(getBranches, text)).toEqual([
      {
        acceptsDeposits: true,
        name: 'one',
        location: {
          latitude: brokenAt(getBranches, '0.location.latitude', expected('number', 'string')),
          longitude: 33,
        },
      },
      {
        acceptsDeposits: brokenAt(getBranches, '1.acceptsDeposits', expected('boolean', 'undefined')),
        name: 'two',
        meta: { license: brokenAt(getBranches, '1.meta.license', expected('string', 'undefined')) },
      },
      { acceptsDeposits: false, name: 'three' },
    ]);
  });

  test.each([
    ['null', 'null'],
    ['a text', '"x"'],
    ['a number', '1'],
    ['a list', '[]'],
  ])('in the place of a record: %s', (_, entry) => {
    const answer = check(getBranches, `{"branches":[{"acceptsDeposits":true},${entry}]}`);
    expect(answer).toEqual([
      { acceptsDeposits: true },
      expect.objectContaining({ code: 'BANK_BAD_RESPONSE', message: expect.stringContaining('at "1"') }),
    ]);
  });

  test.each([
    [
      'a number that is too large',
      getBranches,
      '{"branches":[{"acceptsDeposits":true,"location":{"latitude":1e400}}]}',
      '0.location.latitude',
    ],
    [
      'an amount that is a word',
      getAccountsScope,
      '{"accounts":[{"id":"a","balance":{"amount":"much"}}]}',
      '0.balance.amount',
    ],
  ])('%s', (_, operation, text, place) => {
    expect(errorsIn(check(operation, text)).map(([way]) => way)).toEqual([place]);
  });

  test('and what the bank wrote there is not repeated', () => {
    const [[, error] = []] = errorsIn(check(getCustomer, '{"face_image":{"name":["a secret"]}}'));
    expect(error?.message).toContain('face_image.name');
    expect(error?.message).not.toContain('secret');
  });
});

describe('what keeps the contract is given as it is', () => {
  test.each([
    [
      'fields that the contract does not know',
      getCustomer,
      '{"email":"e","x":{"y":[null]}}',
      { email: 'e', x: { y: [null] } },
    ],
    ['an optional field that is null', getCustomer, '{"email":null}', { email: null }],
    ['an optional field that is absent', getCustomer, '{}', {}],
    ['an optional object that is null', getTransaction, '{"details":null}', { details: null }],
    ['an empty list', getBranches, '{"branches":[]}', []],
    ['siblings of the list', getBranches, '{"branches":[],"next":1}', []],
    [
      'an exact amount',
      getTransaction,
      '{"details":{"value":{"amount":1.10}}}',
      { details: { value: { amount: '1.10' } } },
    ],
  ])('%s', (_, operation, text, value) => {
    const answer = check(operation, text);
    expect(answer).toEqual(value);
    expect(errorsIn(answer)).toEqual([]);
  });

  test('a key __proto__, which changes no prototype', () => {
    const answer = check(getCustomer, '{"__proto__":{"email":"evil"},"legal_name":"Alice"}');
    expect(answer.email).toBeUndefined();
    expect(Reflect.get({}, 'email')).toBeUndefined();
  });
});

describe('a bank’s own forms are interpreted, and reported', () => {
  /** The values that are read from an answer, its drifts, and whether the whole answer matches the contract. */
  const drifting = (operation: Operation, text: string) => {
    const drift: Drift[] = [];
    const checked = validateResponse(operation, parseExactJson(text), details(operation), (one) =>
      drift.push(one),
    );
    return { ...checked, drift: drift.map(({ operation: id, field }) => `${id} ${field}`) };
  };

  test('a number that is written as a string', () => {
    const text = `{"branches":[
      {"acceptsDeposits":true,"location":{"latitude":"35.1","longitude":"-3.3e1"}},
      {"acceptsDeposits":true,"location":{"latitude":"0"}}]}`;
    expect(drifting(getBranches, text)).toEqual({
      answer: [
        { acceptsDeposits: true, location: { latitude: 35.1, longitude: -33 } },
        { acceptsDeposits: true, location: { latitude: 0 } },
      ],
      isValid: true,
      drift: [
        'getBranches location.latitude',
        'getBranches location.longitude',
        'getBranches location.latitude',
      ],
    });
  });

  test.each(['', ' ', '35,1', '35.', '.5', '+1', '0x10', '1e400', '-1e400', 'NaN', 'Infinity', ' 35', '35 '])(
    'but not %j for a number',
    (latitude) => {
      const { answer, isValid, drift } = drifting(
        getBranches,
        JSON.stringify({ branches: [{ acceptsDeposits: true, location: { latitude } }] }),
      );
      expect(errorsIn(answer).map(([way]) => way)).toEqual(['0.location.latitude']);
      expect([isValid, drift]).toEqual([false, []]);
    },
  );

  test.each([
    ['{"details":{"value":{"amount":"1.10"}}}', ['getTransaction amount']],
    ['{"details":{"value":{"amount":1.10}}}', []],
    ['{"details":{"description":"\\"amount\\":\\"1\\""}}', []],
  ])('an amount that is written as a string: %s', (text, fields) => {
    const drift: string[] = [];
    const json = parseResponse(
      { status: 200, headers: {}, body: Buffer.from(text), milliseconds: 5 },
      details(getTransaction),
      ({ operation, field }) => drift.push(`${operation} ${field}`),
    );
    expect(drift).toEqual(fields);
    expect(errorsIn(validateResponse(getTransaction, json, details(getTransaction)).answer)).toEqual([]);
  });
});

describe('where there is no record and no list, the whole answer fails', () => {
  test.each([
    ['a list', getCustomer, '[]', 'is not a JSON object'],
    ['null', getCustomer, 'null', 'is not a JSON object'],
    ['a text', getBranches, '"x"', 'is not a JSON object'],
    ['a number', getBranches, '1', 'is not a JSON object'],
    ['true', getBranches, 'true', 'is not a JSON object'],
    ['another key', getBranches, '{"Branches":[]}', 'has no list under "branches"'],
    [
      'a list that is null, with more',
      getBranches,
      '{"branches":null,"status":"ko"}',
      'has no list under "branches"',
    ],
    [
      'a list that is null, after no',
      getBranches,
      '{"branches":null,"success":false}',
      'has no list under "branches"',
    ],
    [
      'a list that is null, with a code',
      getBranches,
      '{"branches":null,"rc":17}',
      'has no list under "branches"',
    ],
    ['null in place of a list', getBranches, 'null', 'is not a JSON object'],
    ['a list that is an object', getBranches, '{"branches":{}}', 'has no list under "branches"'],
  ])('%s', (_, operation, text, what) => {
    expect(() => check(operation, text)).toThrow(
      expect.objectContaining({
        message: `The bank's answer to ${operation.id} ${what}.`,
        extensions: {
          code: 'BANK_BAD_RESPONSE',
          operation: operation.id,
          status: 200,
          trackId: 'T',
          retryable: false,
        },
      }),
    );
  });
});

describe('parseAnswer', () => {
  const reply = (body: string | Buffer, type?: string) => ({
    status: 200,
    headers: type === undefined ? {} : { 'content-type': type },
    body: Buffer.from(body),
    milliseconds: 5,
  });

  test.each([
    ['ISO-8859-1', Buffer.from('{"name":"Müller","amount":1.10}', 'latin1')],
    ['"iso-8859-15"', Buffer.from('{"name":"M\u00fcller","amount":1.10}', 'latin1')],
    ['utf-16le', Buffer.from('{"name":"Müller","amount":1.10}', 'utf16le')],
  ])('decodes the charset that is declared, %s, and counts that', (charset, body) => {
    const drifts: string[] = [];
    const read = parseResponse(
      reply(body, `application/json; charset=${charset}`),
      { operation: 'getCustomer' },
      (drift) => void drifts.push(drift.field),
    );
    expect(read).toEqual({ name: 'Müller', amount: '1.10' });
    expect(drifts).toEqual(['charset']);
  });

  const nested = (levels: number) => `{"email":"e","more":${'['.repeat(levels)}${']'.repeat(levels)}}`;

  test('says that JSON is nested too deeply for its digits to be kept', () => {
    expect(() =>
      parseResponse(reply(nested(100_000)), { operation: 'getCustomer' }, undefined, true),
    ).toThrow(
      expect.objectContaining({
        code: 'BANK_BAD_RESPONSE',
        message: "The bank's answer to getCustomer is nested too deeply.",
      }),
    );
  });

  test('leaves a record that can be searched for broken values, however deeply it is nested', () => {
    const record = parseResponse(reply(nested(100_000)), { operation: 'getCustomer' });
    expect(brokenValueIn(record)).toBe(null);
    const broken = new Error('no text');
    expect(brokenValueIn([[record], { legal_name: [broken] }])).toBe(broken);
  });

  const emptyWith = (status: number, headers: Record<string, string>) =>
    parseResponse({ status, headers, body: Buffer.alloc(0), milliseconds: 5 }, { operation: 'getBranches' });

  test.each<Record<string, string>>([
    { 'content-length': '0' },
    { 'transfer-encoding': 'chunked', 'content-type': 'application/xml' },
  ])('is undefined for an empty body, with the head %j', (headers) => {
    expect(emptyWith(200, headers)).toBeUndefined();
  });

  test.each([
    ['that may have been cut off before its first byte', 200, {}],
    ['of a status that says so', 204, { 'content-length': '0' }],
    ['of an answer that is not ready', 202, { 'content-length': '0' }],
  ])('refuses an empty body %s', (_, status, headers) => {
    expect(() => emptyWith(status, headers)).toThrow("The bank's answer to getBranches is empty.");
  });

  const gzip = Buffer.from([0x1f, 0x8b, 0x08]);
  test.each([
    ['not JSON', reply('a secret'), 'is not JSON'],
    ['an unfinished text', reply('{"a":"a secret'), 'is not JSON'],
    ['two byte order marks', reply('\ufeff\ufeff{}'), 'is not JSON'],
    ['a page', reply('<p>a secret</p>', 'text/html'), 'is not JSON, nor is its content type'],
    ['JSON in the type of something else', reply('{}', 'application/xml'), 'is not JSON by its content type'],
    ['nothing', reply(''), 'is empty'],
    ['white space', reply(' \r\n', 'text/plain'), 'is empty'],
    ['nothing in the type of something else', reply('', 'application/xml'), 'is empty'],
    [
      'bytes that are not UTF-8',
      reply(Buffer.from([0x22, 0xc3, 0x28, 0x22])),
      'is not in UTF-8, and declares no other charset',
    ],
    [
      'ISO-8859-1',
      reply(Buffer.from('{"name":"Müller"}', 'latin1')),
      'is not in UTF-8, and declares no other charset',
    ],
    ['UTF-16', reply(Buffer.from('{}', 'utf16le')), 'is not in UTF-8, and declares no other charset'],
    [
      'UTF-16 with a mark',
      reply(Buffer.from('\ufeff{}', 'utf16le')),
      'is not in UTF-8, and declares no other charset',
    ],
    [
      'a charset that nobody knows',
      reply(Buffer.from('{"name":"Müller"}', 'latin1'), 'application/json; charset="x-odd"'),
      'declares the charset x-odd, which is not known',
    ],
    [
      'bytes that are not in the declared charset',
      reply(Buffer.from([0x7b, 0xff, 0xff]), 'application/json; charset=Shift_JIS'),
      'is not JSON in shift_jis, the charset that it declares',
    ],
    ['gzip', reply(gzip), 'is compressed (gzip), without a Content-Encoding that says so'],
    ['gzip', reply(gzip, 'text/plain'), 'is compressed (gzip), without a Content-Encoding that says so'],
  ])('refuses %s, says why, and does not repeat it', (_, wire, why) => {
    expect(() => parseResponse(wire, { operation: 'getCustomer' })).toThrow(
      expect.objectContaining({
        code: 'BANK_BAD_RESPONSE',
        message: `The bank's answer to getCustomer ${why}.`,
      }),
    );
  });
});

/** Every error in an answer, with its path. */
function errorsIn(value: unknown, way: string[] = []): [string, Error][] {
  if (value instanceof Error) return [[way.join('.'), value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => errorsIn(member, [...way, key]));
}

describe('what an answer contains', () => {
  const {
    getCustomer,
    getMessagesOwner,
    postMetadata,
    getBranches,
    postMakeTransaction,
    putTransactionsRequestAccount,
  } = operations;

  test.each<[string, Operation, unknown, string | null]>([
    ['members beside the record', getCustomer, { email: 'e', warning: 'w' }, null],
    ['members that are null', getCustomer, { email: null }, null],
    ['an empty record', getCustomer, {}, 'empty-record'],
    ...[
      ...[null, false, '', 0, [], {}, { code: 0, message: null }],
      ...[
        '0',
        'None',
        'false',
        [{}],
        { code: '0', message: 'Success' },
        { errorCode: '00', description: '' },
      ],
    ].map((error): [string, Operation, unknown, null] => [
      `${JSON.stringify(error)} as an error beside a record`,
      getCustomer,
      { email: 'e', error },
      null,
    ]),
    ['an error where nothing is specified', postMakeTransaction, { id: 'i', error: 'no' }, null],
    ['anything where nothing is specified', postMakeTransaction, { x: 1 }, null],
  ])('a record: %s', (_, operation, json, drift) => {
    expect(contentOf(operation, json)).toEqual({ value: json, drift });
  });

  test('a list: an empty object, where the specification does not require its key', () => {
    expect(contentOf(getBranches, {})).toEqual({ value: [], drift: 'empty-record' });
    expect(contentOf(putTransactionsRequestAccount, {})).toBeUndefined();
  });

  test.each([
    [{ branches: null }, 'empty-record'],
    [{ branches: '' }, 'empty-record'],
    [{ branch: null, total: 0, errors: [], message: '' }, 'empty-record'],
    [undefined, 'empty-body'],
  ])('a list: none, in the answer %j to a read', (json, drift) => {
    expect(contentOf(getBranches, json)).toEqual({ value: [], drift });
    for (const operation of [getCustomer, putTransactionsRequestAccount])
      expect(contentOf(operation, json)).toBeUndefined();
  });

  test('a list that is null under one name, and present under another, is the present one', () => {
    const json = { branches: null, branch: [{ name: 'n' }] };
    expect(contentOf(getBranches, json)).toEqual({ value: [{ name: 'n' }], drift: 'envelope' });
  });

  test.each([
    [
      'a record whose message is its own',
      getMessagesOwner,
      { message: 'm', date: 'd' },
      [{ message: 'm', date: 'd' }],
    ],
    ['a record with a code', postMetadata, { code: 'c', id: 'i' }, [{ code: 'c', id: 'i' }]],
    ['another spelling before the object itself', getBranches, { branch: [], name: 'n' }, []],
  ])('a list: %s', (_, operation, json, value) => {
    expect(contentOf(operation, json)).toEqual({ value, drift: 'envelope' });
  });

  test.each([
    ['a message alone in place of messages', getMessagesOwner, { message: 'no' }],
    ['a code and a message in place of metadata', postMetadata, { code: '401', message: 'no' }],
    ['an error with nulls of the contract', getCustomer, { error: 'no', email: null }],
    ['an error beside a record', getCustomer, { email: 'e', error: 'old' }],
    ['an error that names no code', getCustomer, { email: 'e', error: { code: null, message: 'old' } }],
    ['a code in an error', getCustomer, { email: 'e', error: { code: '7', message: '' } }],
    ['errors beside a record', getCustomer, { email: 'e', Errors: [{ message: 'm' }] }],
    [
      'an error beside a wrapped record',
      getCustomer,
      { customer: { email: 'e' }, fault: { faultstring: 'f' } },
    ],
    ['an error in a wrapped record', getCustomer, { customer: { email: 'e', error: 'old' } }],
    ['a message beside a list that is null', getBranches, { branches: null, message: 'log in' }],
    ['an error beside a list that is null', getBranches, { branches: null, errors: [{ code: 7 }] }],
    ['an error beside an empty list', getBranches, { branches: [], error: 'down' }],
    ['an error beside a list', getBranches, { branches: [{ name: 'n' }], error: 'the rest is away' }],
    ['an error beside a list under another name', getBranches, { branch: [{ name: 'n' }], error: 'away' }],
    ['an error in the only record of a list', getCustomer, [{ email: 'e', error: 'away' }]],
  ])('an error: %s', (_, operation, json) => {
    expect(() => contentOf(operation, json)).toThrow(ErrorInSuccess);
  });

  test.each([
    ['texts', getBranches, ['a', 1]],
    ['an object in the list’s place', getBranches, { branches: {} }],
    ['another kind of list', getBranches, { products: [] }],
    ['a list of two records', getCustomer, [{ email: 'a' }, { email: 'b' }]],
    ['null', getCustomer, null],
    ['a message that is null, in place of messages', getMessagesOwner, { message: null }],
  ])('nothing: %s', (_, operation, json) => {
    expect(contentOf(operation, json)).toBeUndefined();
  });

  test('the text of an error ends at the greatest depth', () => {
    let error: object = { message: 'too deep' };
    for (let depth = 0; depth < 10_000; depth++) error = { error, title: String(depth) };
    expect(errorWords(error)).toBe('9995 9996 9997 9998 9999');
  });
});

describe('the short way of a plain answer', () => {
  const json = { 'content-type': 'application/json' };
  const plain = '{"branches":[{"id":"b","acceptsDeposits":true}]}';

  /** The results of the generated validators, and of the complete validation. */
  function bothWays(
    body: string | Buffer,
    headers: Record<string, string> = json,
    status = 200,
    keepDigits = false,
  ) {
    const response = { status, headers, body: Buffer.from(body), milliseconds: 0 };
    const call = client.prepare(getBranches, { ids: { bankId: 'B' }, credentials: canaries, keepDigits });
    const drifts: Drift[] = [];
    const long = () => readAnswer(call, response, { onDrift: (drift) => drifts.push(drift) });
    return { short: call.target.readPlain(response, keepDigits), long, drifts };
  }
  const client = createTestClient('http://127.0.0.1:1');
  afterAll(() => client.close());

  test.each([
    ['as most are', plain, json],
    ['with its charset', plain, { 'content-type': 'application/json; charset=UTF-8' }],
    ['without a record', '{"branches":[]}', json],
    [
      'with members that the contract does not have',
      '{"branches":[{"acceptsDeposits":true,"x":{"y":1}}],"page":1}',
      json,
    ],
  ])('is that of the long way, without drift: %s', (_, body, headers) => {
    const { short, long, drifts } = bothWays(body, headers);
    expect(short).toEqual(long().answer);
    expect([short === undefined, long().isValid, drifts]).toEqual([false, true, []]);
  });

  test.each([
    ['of another type', plain, { 'content-type': 'text/html' }],
    ['without a type', plain, {}],
    [
      'in another charset',
      Buffer.from(plain, 'utf16le'),
      { 'content-type': 'application/json; charset=utf-16' },
    ],
    ['with a charset as its encoding', plain, { ...json, 'content-encoding': 'iso-8859-1' }],
    ['with a byte order mark', `\ufeff${plain}`, json],
    ['not in UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), json],
    ['no JSON', '{"branches":', json],
    ['nested too deeply', `${'['.repeat(200_000)}`, json],
    ['bare', '[{"acceptsDeposits":true}]', json],
    ['in another envelope', '{"branch":[{"acceptsDeposits":true}]}', json],
    ['with an error beside the list', '{"branches":[],"error":{"message":"no"}}', json],
    ['with a record that deviates', '{"branches":[{"acceptsDeposits":"true"}]}', json],
    ['with a record that breaks the contract', '{"branches":[{"acceptsDeposits":{}}]}', json],
    ['with a member in another spelling', '{"branches":[{"acceptsDeposits":true,"Name":"n"}]}', json],
    ['with a quoted amount', '{"branches":[{"acceptsDeposits":true,"amount":"1.00"}]}', json],
    [
      'with too many records',
      `{"branches":[${'{"acceptsDeposits":true},'.repeat(50_000)}{"acceptsDeposits":true}]}`,
      json,
    ],
  ])('is not taken by an answer that is %s', (_, body, headers) => {
    expect(bothWays(body, headers).short).toBeUndefined();
  });

  test('is taken neither by a part of an answer, nor for an update', () => {
    expect(bothWays(plain, json, 206).short).toBeUndefined();
    expect(bothWays(plain, json, 200, true).short).toBeUndefined();
  });
});
