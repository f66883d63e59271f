import { describe, expect, test } from 'vitest';
import { RefusedReads } from '../../src/bank/refused-reads.ts';

type Headers = Readonly<Record<string, string>>;
const answer = (body: string, headers: Headers = {}, status = 401) => ({
  status,
  headers: { 'content-length': String(Buffer.byteLength(body)), ...headers },
  body: Buffer.from(body),
});
const refused = (...answers: ReturnType<typeof answer>[]) => {
  const reads = new RefusedReads();
  for (const each of answers) reads.note(each);
  return reads;
};

describe('the 401 of a read', () => {
  test.each([
    ['{"code":"E7","message":"Σύνδεση απαιτείται"}', '{"code":"E7","message":"Σύνδεση απαιτείται"}'],
    [
      '{"at":"2026-01-15T10:00:00Z","message":"Anmelden"}',
      '{"at":"2026-01-15T10:00:01.5Z","message":"Anmelden"}',
    ],
    ['{"requestId":"abc/D+e=","m":"no"}', '{"requestId":"xyz","m":"no"}'],
    [
      'no: 6f1c9a52-6a0e-4d52-9d5b-0f4cf3b3a001 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'no: 7f1c9a52-6a0e-4d52-9d5b-0f4cf3b3a002 00-5bf92f3577b34da6a3ce929d0e0e4736-10f067aa0ba902b7-01',
    ],
    [
      '<html>Thu, 15 Jan 2026 10:00:00 GMT: log in</html>',
      '<html>Fri, 16 Jan 2026 11:00:00 GMT: log in</html>',
    ],
  ])('is the same apart from times, ids and digits: %s', (read, payment) => {
    expect(refused(answer(read)).has(answer(payment))).toBe(true);
  });

  test.each<[string, string, Headers?]>([
    ['another text', '{"message":"done"}'],
    ['one more member', '{"message":"no","id":"T"}'],
    ['a member that occurs twice', '{"message":"no","message":"no"}'],
    ['another case', '{"message":"No"}'],
    ['a Location', '{"message":"no"}', { location: '/payments/T' }],
    ['another charset', '{"message":"no"}', { 'content-type': 'application/json; charset=utf-7' }],
    ['an encoding', '{"message":"no"}', { 'content-encoding': 'gzip' }],
    ['another challenge', '{"message":"no"}', { 'www-authenticate': 'Bearer error="paid"' }],
  ])('is another one with %s', (_, body, headers) => {
    expect(refused(answer('{"message":"no"}')).has(answer(body, headers))).toBe(false);
  });

  test('is kept with its challenge, also without a body, and not for another status or a body that was not read', () => {
    const expired = {
      'www-authenticate': 'Bearer error="invalid_token", error_description="expired at 10:00"',
    };
    const later = {
      'www-authenticate': 'Bearer error="invalid_token", error_description="expired at 11:30"',
    };
    expect(refused(answer('', expired)).has(answer('', later))).toBe(true);
    const [forbidden, unread] = [answer('no', {}, 403), answer('', { 'content-length': '7' })];
    expect([refused(forbidden).has(forbidden), refused(unread).has(unread)]).toEqual([false, false]);
  });

  test.each([
    '{"code":"SCA_REQUIRED","id":"6f9619ff-8b86-d011-b42d-00c04fc964ff"}',
    '{"id":"T1","challenge":{"type":"PUSH"}}',
    '{"message":"Enter the TAN 1"}',
  ])('is not kept if it asks to confirm, since the bank may keep the payment: %s', (body) => {
    expect(refused(answer(body)).has(answer(body))).toBe(false);
  });

  test('is one of a bounded number, of which the oldest is forgotten', () => {
    const text = (n: number) => answer('ab'.repeat(n + 1));
    const reads = refused(...Array.from({ length: 201 }, (_, n) => text(n)));
    expect([reads.has(text(0)), reads.has(text(1)), reads.has(text(200))]).toEqual([false, true, true]);
  });
});
