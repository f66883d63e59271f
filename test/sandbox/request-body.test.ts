import { expect, test } from 'vitest';
import { bankForAll } from './bank-caller.ts';

const { call } = bankForAll();

const customer = { CUSTOMER_ID: 'alice' };

test.each([
  ['{"email":null}', 'email: '],
  ['{"email":1}', 'email: '],
  ['{"metadata":[]}', 'metadata: the contract has no such field here'],
  ['{"face_image":{}}', 'face_image.name: '],
  ['{"face_image":{"name":"a","size":1}}', 'face_image.size: the contract has no such field here'],
  ['{"string_values":[{"key":"a"},{"string":"b"}]}', 'string_values.1.key: '],
  ['{"__proto__":{}}', '__proto__: the contract has no such field here'],
])('the text names the field that is wrong in %s', async (body, message) => {
  const answer = await call('putCustomerID', customer, { body });
  expect(answer.json).toEqual({ code: 400, message: expect.stringMatching(`^${message}`) });
});

test.each([
  ['"1.00"', 'amount: has to be a JSON number, not a string'],
  ['null', 'balance.amount: has to be a JSON number'],
  ['true', 'balance.amount: has to be a JSON number'],
  ['{}', 'balance.amount: has to be a JSON number'],
])('an amount is a JSON number, not %s', async (amount, message) => {
  for (const key of ['amount', 'am\\u006funt']) {
    const body = `{"balance":{"${key}":${amount}}}`;
    expect((await call('putAccountID', { ACCOUNT_ID: 'a' }, { body })).json).toEqual({ code: 400, message });
  }
});

test('amounts keep the digits that they came with, other numbers their value', async () => {
  for (const digits of ['1.10', '100e-2', '123456789012345678901234567890.12']) {
    const body = `{"balance":{"amount":${digits}}}`;
    const answer = await call('putAccountID', { ACCOUNT_ID: 'alice-new' }, { body, caller: 'staff' });
    expect(answer.text).toContain(`"amount":${digits}}`);
  }
  const place = { acceptsDeposits: true, location: { latitude: -33.5, longitude: 1e2 } };
  expect((await call('putBranchID', { BRANCH_ID: 'a' }, { body: place })).json).toEqual({
    ...place,
    id: 'a',
  });
});

test('the Content-Type may be left out or have a charset, and has to be JSON’s', async () => {
  const body = { email: 'a@example.com' };
  for (const type of [null, 'application/json', 'Application/JSON; charset=utf-8']) {
    const answer = await call('putCustomerID', customer, { body, headers: { 'Content-Type': type } });
    expect(answer.status, String(type)).toBe(200);
  }
  for (const type of ['text/json', 'application/jsonp', 'application', 'multipart/form-data; boundary=a']) {
    const answer = await call('putCustomerID', customer, { body, headers: { 'Content-Type': type } });
    expect(answer.status, type).toBe(400);
  }
});

test('a body above 100 kB is too large, one of 100 kB is read', async () => {
  const body = (length: number) => JSON.stringify({ email: 'x'.repeat(length - 12) });
  expect((await call('putCustomerID', customer, { body: body(100_000) })).status).toBe(200);
  const large = await call('putCustomerID', customer, { body: body(100_001) });
  expect(large.json).toEqual({ code: 413, message: expect.any(String) });
});

test('nesting without end is no JSON that the bank reads', async () => {
  const body = '['.repeat(45_000) + ']'.repeat(45_000);
  expect((await call('putCustomerID', customer, { body })).status).toBe(400);
});
