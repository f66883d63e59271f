import { expect, test } from 'vitest';
import { bankCode, bankText } from '../../src/bank/errors.ts';

const response = (body: string) => ({ status: 400, headers: {}, body: Buffer.from(body), milliseconds: 1 });

test.each<[unknown, string | null]>([
  [{ code: 'OBP-30018' }, 'OBP-30018'],
  [{ message: 'no', errorCode: 'LIMIT' }, 'LIMIT'],
  [{ error_code: 42 }, '42'],
  [{ 'error-code': 'E1' }, 'E1'],
  [{ error: { code: 'E1' } }, 'E1'],
  [{ errors: [{ code: 'E1' }, { code: 'E2' }] }, 'E1'],
  [{ error: 'invalid_request' }, 'invalid_request'],
  [{ code: 400 }, null],
  [{ error: 'nothing' }, null],
  [{ error: 'Two words' }, null],
  [{ code: 'two words' }, null],
  [{ code: 'x'.repeat(65) }, null],
  [{ code: 'my-secret-1' }, null],
  [{ code: 'E:my-secret-1:2' }, null],
  [{ error: { error: { error: { error: { code: 'deep' } } } } }, null],
  [{ message: 'no' }, null],
  [['E1'], null],
  ['text', null],
  [null, null],
])('the code of %j is %s', (json, expected) => {
  expect(bankCode(response(JSON.stringify(json)), ['my-secret-1'])).toBe(expected);
});

test('a body that is not JSON has words and no code', () => {
  const plain = response('not yours');
  expect([bankText(plain, []), bankCode(plain, [])]).toEqual(['not yours', null]);
});

test('a body that takes too long to parse says nothing', () => {
  const long = response(`{"code":"E1","message":"m","x":[${'1,'.repeat(300_000)}1]}`);
  expect([bankText(long, []), bankCode(long, [])]).toEqual(['', null]);
});

test('an id that the caller sent is shown, although the caller’s own name is in it', () => {
  const text = response('{"message":"no customer alice-current for alice with key-4711"}');
  expect(bankText(text, ['alice', 'key-4711'], ['alice-current'])).toBe(
    'no customer alice-current for [redacted] with [redacted]',
  );
});
