import { describe, expect, test } from 'vitest';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { inTimeMs } from '../support/in-time.ts';
import { bankForEach, freshBank } from './bank-caller.ts';

const bank = bankForEach();

/** A request without any header of ours, as curl would send it. */
async function ask(method: string, body?: string, base = bank.url()) {
  const response = await fetch(`${base}/sandbox/faults`, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }),
  });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const customer = () => bank.call('getCustomer', { CUSTOMER_ID: 'alice' });

test('lists nothing at first', async () => {
  expect(await ask('GET')).toEqual({ status: 200, json: [] });
});

test('puts faults, tells how often each struck, and ends them', async () => {
  const put = await ask(
    'PUT',
    '[{"operation":"getCustomer","kind":"status","status":503,"count":1},{"operation":"*","kind":"latency","milliseconds":1}]',
  );
  const state = [
    { operation: 'getCustomer', kind: 'status', status: 503, rate: 1, count: 1, strikes: 'after', struck: 0 },
    { operation: '*', kind: 'latency', milliseconds: 1, rate: 1, strikes: 'after', struck: 0 },
  ];
  expect(put).toEqual({ status: 200, json: state });
  expect([(await customer()).status, (await customer()).status]).toEqual([503, 200]);
  expect((await ask('GET')).json).toEqual([
    { ...state[0], struck: 1 },
    { ...state[1], struck: 2 },
  ]);

  expect(await ask('DELETE')).toEqual({ status: 200, json: [] });
  expect((await customer()).status).toBe(200);
  expect((await ask('GET')).json).toEqual([]);
});

test('puts a scenario', async () => {
  const { json } = await ask('PUT', '{"scenario":"down"}');
  expect(json).toEqual(parseFaults('down').map((fault) => ({ ...fault, struck: 0 })));
  expect((await customer()).status).toBe(503);
});

test('answers at once, however late the bank is', async () => {
  await using late = await freshBank({ latencyMs: 60_000, faults: '*:latency=60000; *:hang' });
  const started = performance.now();
  await ask('DELETE', undefined, late.url);
  expect(performance.now() - started).toBeLessThan(inTimeMs);
});

describe('a body that it cannot use', () => {
  test.each<[string, string | undefined, string]>([
    ['none', undefined, 'The body is missing'],
    ['no JSON', '[{', 'The body is not JSON'],
    ['a text', '"flaky"', 'Give a list of faults, or {"scenario": "flaky"}'],
    ['another object', '{"faults":[]}', 'Give a list of faults, or {"scenario": "flaky"}'],
    ['no scenario', '{"scenario":"chaos"}', 'scenario: give one of slow-day, flaky, down'],
    [
      'an unknown operation',
      '[{"operation":"*","kind":"hang"},{"operation":"getBalance","kind":"hang"}]',
      '1: operation: give the id of an operation, such as getCustomer, or * for all of them',
    ],
    [
      'no parameter',
      '[{"operation":"*","kind":"status"}]',
      '0: status: give a status from 300 to 599, such as status=503',
    ],
    [
      'a field of another kind',
      '[{"operation":"*","kind":"hang","status":503}]',
      '0: status: a fault of this kind has none; leave it out',
    ],
    [
      'a wrong order',
      '[{"operation":"*","kind":"hang","strikes":"later"}]',
      '0: strikes: give before (the bank does not do the work) or after (it does)',
    ],
  ])('%s: 400 with a text, and the faults stay as they were', async (_what, body, message) => {
    await ask('PUT', '{"scenario":"down"}');
    expect(await ask('PUT', body)).toEqual({ status: 400, json: { code: 400, message } });
    expect((await ask('GET')).json).toHaveLength(1);
  });

  test.each(['[1]', '[null]', '[[]]'])('%s: 400', async (body) => {
    expect((await ask('PUT', body)).status).toBe(400);
  });
});
