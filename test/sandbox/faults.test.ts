import { describe, expect, test } from 'vitest';
import { inTimeMs } from '../support/in-time.ts';
import { lateBy } from '../support/waits.ts';
import { balanceOf, bankForEach, freshBank, payTo, send } from './bank-caller.ts';

const bank = bankForEach();
const { call } = bank;

/** Sets faults without any special header, as curl does. */
async function put(faults: string | object, url = bank.url()) {
  const body = typeof faults === 'string' ? faults : JSON.stringify(faults);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const response = await fetch(`${url}/sandbox/faults`, { method: 'PUT', body, headers });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const customer = () => call('getCustomer', { CUSTOMER_ID: 'alice' });
const pay = (signal?: AbortSignal) =>
  call(
    'postMakeTransaction',
    { ACCOUNT_ID: 'alice-current' },
    { body: payTo('bob-current'), ...(signal && { signal }) },
  );

describe('a fault', () => {
  test('applies to so many calls of its operation, and to no other', async () => {
    const faults = { getCustomer: { status: 503, latency: 1, times: 2 } };
    expect(await put(faults)).toEqual({ status: 200, json: faults });
    expect((await call('getBranches')).status).toBe(200);
    const answer = await customer();
    expect(answer).toMatchObject({ status: 503, contentType: 'application/json; charset=utf-8' });
    expect(answer.json).toEqual({ code: 503, message: 'The bank has a bad day' });
    expect([(await customer()).status, (await customer()).status]).toEqual([503, 200]);
  });

  test('of * applies to every other operation, refusals included, and to nothing else', async () => {
    await put({ '*': { status: 500 }, getCustomer: { latency: 1 } });
    expect((await customer()).status).toBe(200);
    expect((await call('getProduct', { PRODUCT_ID: 'none' })).status).toBe(500);
    expect((await send(`${bank.url()}/v1/api/nothing`, 'GET')).status).toBe(404);
    expect((await put({})).status).toBe(200);
    expect((await call('getBranches')).status).toBe(200);
  });

  test('of a latency delays the answer; a caller who does not wait has paid', async () => {
    await put({ postMakeTransaction: { latency: 600_000, times: 1 }, getCustomer: { latency: 1500 } });
    const started = performance.now();
    const late = customer();
    const leaving = new AbortController();
    const paid = pay(leaving.signal);
    await expect.poll(() => balanceOf(call, 'alice-current')).toBe('4304.80');
    leaving.abort();
    await expect(paid).rejects.toThrow();
    expect((await late).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(1495);
  });

  test('of a status hides what was done: the transfer was made', async () => {
    await put({ postMakeTransaction: { status: 503 } });
    expect((await pay()).status).toBe(503);
    expect(await balanceOf(call, 'alice-current')).toBe('4304.80');
  });
});

test('new faults replace all others', async () => {
  await put({ getCustomer: { status: 503 } });
  await put({ getBranches: { status: 503 } });
  expect([(await customer()).status, (await call('getBranches')).status]).toEqual([200, 503]);
});

test.each([
  ['', 'The body is missing'],
  ['{', 'The body is not JSON'],
  ['[]', 'The body: '],
  ['{"getCostumer":{"status":503}}', 'getCostumer: '],
  ['{"getCustomer":{"status":200}}', 'getCustomer.status: '],
  ['{"getCustomer":{"latency":0}}', 'getCustomer.latency: '],
  ['{"getCustomer":{"times":1.5}}', 'getCustomer.times: '],
  ['{"getCustomer":{"rate":0.5}}', 'getCustomer.rate: '],
])('%j is refused, and changes nothing', async (body, message) => {
  await put({ getCustomer: { status: 503 } });
  expect(await put(body)).toEqual({
    status: 400,
    json: { code: 400, message: expect.stringMatching(`^${message}`) },
  });
  expect((await customer()).status).toBe(503);
});

test('closing ends a latency at once', async () => {
  const slow = await freshBank();
  await put({ '*': { latency: 60_000 } }, slow.url);
  const waiting = slow.call('getBranches').catch((error: unknown) => error);
  // The call waits for its answer, or comes too late to get one. In both cases, it ends as expected.
  await lateBy(50);
  const started = performance.now();
  await slow.close();
  expect(performance.now() - started).toBeLessThan(inTimeMs);
  expect(await waiting).toBeInstanceOf(Error);
});
