import { request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { inTimeMs } from '../support/in-time.ts';
import { lateBy, quietFor } from '../support/waits.ts';
import { balanceOf, type Call, freshBank, payTo, send } from './bank-caller.ts';

type Bank = Awaited<ReturnType<typeof freshBank>>;

async function badBank(faults: string): Promise<Bank> {
  const bank = await freshBank({ faults });
  onTestFinished(bank.close);
  return bank;
}

const customer = (call: Call) => call('getCustomer', { CUSTOMER_ID: 'alice' });
const account = (call: Call) => call('getAccountsScope', { ACCOUNT_ID: 'alice-current', scope: 'views' });

/** Pays one euro from alice to bob; what becomes of the call is another matter. */
const pay = (call: Call) =>
  call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body: payTo('bob-current') });

/** An answer as its bytes come, and how it ends. */
async function raw(url: string, limitMs = 60_000) {
  const started = performance.now();
  const answer = await request(`${url}/v1/api/banks/SNDBCY2N/products/current-plus`, {
    headers: { 'Ocp-Apim-Subscription-Key': 'sandbox-key' },
    signal: AbortSignal.timeout(limitMs),
  });
  const chunks: Buffer[] = [];
  let end: unknown = 'whole';
  try {
    for await (const chunk of answer.body) chunks.push(chunk);
  } catch (error) {
    end = error;
  }
  return {
    status: answer.statusCode,
    length: Number(answer.headers['content-length']),
    text: Buffer.concat(chunks).toString(),
    milliseconds: performance.now() - started,
    end,
  };
}

/** The product's answer of a bank without faults. */
async function wholeProduct(): Promise<string> {
  return (await raw((await badBank('')).url)).text;
}

describe('what a caller sees', () => {
  test('latency: the answer, later; latencies add up', async () => {
    const { call } = await badBank('*:latency=80; getCustomer:latency=60:before');
    const started = performance.now();
    expect((await customer(call)).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(135);
  });

  test('status: that status, with an error as the bank writes them', async () => {
    const { call } = await badBank('*:status=503');
    const answer = await customer(call);
    expect(answer).toMatchObject({ status: 503, contentType: 'application/json; charset=utf-8' });
    expect(answer.json).toEqual({ code: 503, message: 'The bank has a bad day' });
  });

  test('status: in place of a refusal, too', async () => {
    const { call } = await badBank('*:status=429');
    expect((await call('getCustomer', { CUSTOMER_ID: 'nobody' })).status).toBe(429);
  });

  test('reset: a connection that breaks before any answer', async () => {
    const { call } = await badBank('*:reset');
    await expect(customer(call)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('hang: no answer at all', async () => {
    const { url } = await badBank('*:hang');
    await expect(raw(url, 200)).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('drip: the whole answer, a byte at a time', async () => {
    const whole = await wholeProduct();
    const { url } = await badBank('*:drip=1');
    const answer = await raw(url);
    expect(answer).toMatchObject({ status: 200, text: whole, end: 'whole' });
    expect(answer.length).toBe(Buffer.byteLength(whole));
    expect(answer.milliseconds).toBeGreaterThan(whole.length);
    const slow = await badBank('*:drip=100');
    const { text, milliseconds, end } = await raw(slow.url, 1000);
    expect(end).toMatchObject({ name: 'TimeoutError' });
    expect(text.length).toBeGreaterThan(0);
    expect(text.length).toBeLessThanOrEqual(milliseconds / 100 + 1);
  });

  test('cut-off: half of the answer that was announced', async () => {
    const whole = await wholeProduct();
    const { url } = await badBank('*:cut-off');
    const answer = await raw(url);
    expect(answer.status).toBe(200);
    expect(answer.length).toBe(Buffer.byteLength(whole));
    expect(whole.startsWith(answer.text)).toBe(true);
    expect(answer.text.length).toBe(Math.ceil(whole.length / 2));
    expect(answer.end).toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  test('broken-json: a whole answer that cannot be parsed', async () => {
    const { url } = await badBank('*:broken-json');
    const answer = await raw(url);
    expect(answer).toMatchObject({ status: 200, end: 'whole', length: Buffer.byteLength(answer.text) });
    expect(() => JSON.parse(answer.text)).toThrow(SyntaxError);
  });

  test('wrong-types: the same structure, and no value of the type that the contract shows', async () => {
    const { call } = await badBank('*:wrong-types');
    expect((await account(call)).json).toMatchObject({
      accounts: [
        { id: false, balance: { currency: false, amount: 'no number' }, views_available: [false, false] },
      ],
    });
    expect(JSON.parse((await call('getBranches')).text).branches[0]).toMatchObject({
      acceptsDeposits: 'true',
      location: { latitude: 'no number' },
    });
  });

  test('drift: numbers as texts with every digit, and views as objects', async () => {
    const { call } = await badBank('*:drift');
    const ids = { ACCOUNT_ID: 'alice-trust', scope: 'views' };
    const answer = await call('getAccountsScope', ids);
    expect(answer.text).toContain('"amount":"9007199254740993.25"');
    expect(answer.json).toMatchObject({
      accounts: [{ views_available: [{ id: 'owner' }, { id: 'public' }] }],
    });
    expect((await call('getBranches')).text).toMatch(/"latitude":"-?\d/);
  });
});

describe('before the work or after it', () => {
  test.each(['reset', 'cut-off'])('%s strikes after it: the transfer was made', async (kind) => {
    const { call } = await badBank(`postMakeTransaction:${kind}`);
    await expect(pay(call)).rejects.toThrow();
    expect(await balanceOf(call, 'alice-current')).toBe('4304.80');
  });

  test.each(['reset', 'cut-off'])('%s:before strikes before it: no transfer was made', async (kind) => {
    const { call } = await badBank(`postMakeTransaction:${kind}:before`);
    await expect(pay(call)).rejects.toThrow();
    expect(await balanceOf(call, 'alice-current')).toBe('4305.80');
  });

  test.each([
    ['status=503', '4304.80'],
    ['status=503:before', '4305.80'],
  ])('%s leaves %s', async (fault, balance) => {
    const { call } = await badBank(`postMakeTransaction:${fault}`);
    expect((await pay(call)).status).toBe(503);
    expect(await balanceOf(call, 'alice-current')).toBe(balance);
  });

  test.each([
    ['hang', '4304.80'],
    ['hang:before', '4305.80'],
  ])('%s leaves %s', async (fault, balance) => {
    const { call } = await badBank(`postMakeTransaction:${fault}`);
    void pay(call).catch(() => {});
    // It would move the money, if it did.
    await quietFor(100);
    await expect.poll(() => balanceOf(call, 'alice-current')).toBe(balance);
  });

  test('a bank that is late before the work still does it when the caller has left', async () => {
    const { call } = await badBank('putBranchID:latency=3000:before');
    const [body, signal] = [{ acceptsDeposits: true }, AbortSignal.timeout(500)];
    await expect(call('putBranchID', { BRANCH_ID: 'late' }, { body, signal })).rejects.toThrow();
    expect((await call('getBranches')).text).not.toContain('"late"');
    await expect.poll(async () => (await call('getBranches')).text).toContain('"late"');
  });

  test('a latency is felt even where the call ends before the work', async () => {
    const { call } = await badBank('*:latency=100; *:status=503:before');
    const started = performance.now();
    expect((await customer(call)).status).toBe(503);
    expect(performance.now() - started).toBeGreaterThan(95);
  });
});

describe('whom it strikes', () => {
  test('the next n calls of one operation, and none of another', async () => {
    const { call } = await badBank('getCustomer:status=500:count=2');
    const statuses: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      expect((await account(call)).status).toBe(200);
      statuses.push((await customer(call)).status);
    }
    expect(statuses).toEqual([500, 500, 200, 200]);
  });

  test('operations only: a path that is none is not found, as on any day', async () => {
    const { url } = await badBank('down');
    expect((await send(`${url}/v1/api/nothing`, 'GET')).status).toBe(404);
  });

  test('without faults every answer is byte for byte what it is with faults elsewhere', async () => {
    const [plain, elsewhere] = [await badBank(''), await badBank('putProduct:hang')];
    const read: OperationId[] = ['getBranches', 'getMessagesOwner'];
    for (const id of read) expect(await elsewhere.call(id)).toEqual(await plain.call(id));
  });
});

test.each(['hang', 'hang:before', 'drip=100', 'latency=60000', 'latency=60000:before'])(
  'closing ends a %s at once',
  async (fault) => {
    const { url, close } = await badBank(`*:${fault}`);
    const waiting = raw(url, 60_000).catch((error: unknown) => ({ end: error }));
    await lateBy(100);
    const started = performance.now();
    await close();
    expect(performance.now() - started).toBeLessThan(inTimeMs);
    expect((await waiting).end).toBeInstanceOf(Error);
  },
);

test('a bank that closes while it waits before the work leaves nothing behind', async () => {
  const { url, close } = await badBank('*:latency=150:before');
  const waiting = raw(url, 60_000).catch((error: unknown) => error);
  await lateBy(50);
  await close();
  expect(await waiting).toBeInstanceOf(Error);
  await quietFor(200);
});
