import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { logLines } from '../support/log-lines.ts';
import { type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { type BankqlProcess, startProcess, storeTimeoutVariable } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';
import { untilFound } from '../support/waits.ts';

/** What an operator sees if the payment store of a serving process is unavailable. */

const folder = testFolder();

let bank: PaymentBank;
beforeAll(async () => {
  bank = await startPaymentBank();
});
afterAll(() => bank.close());

const metricsOf = async (bankql: BankqlProcess) => {
  const url = /Metrics: (\S+)\./.exec(bankql.output())?.[1] ?? '';
  return (await fetch(url)).text();
};
const sampleOf = (metrics: string, name: string) =>
  metrics
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);
const ready = async ({ url }: BankqlProcess) => (await fetch(`${url}/ready`)).status;
const linesWith = ({ output }: BankqlProcess, words: string) => logLines(output(), words);

const until = <T>(ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> =>
  untilFound(async () => {
    const value = await ask();
    return wanted(value) ? value : undefined;
  });

describe('a store that is away while bankql runs', () => {
  test('leaves one line when it goes and one when it is back, metrics say so, and /ready stays 200: reads are served', async () => {
    const path = join(folder, 'away.db');
    const environment = {
      BANK_BASE_URL: bank.url,
      STATE_URL: `sqlite:${path}`,
      METRICS_PORT: '0',
      // Even a busy machine stores the first payment within this time.
      [storeTimeoutVariable]: '5000',
    };
    await using bankql = await startProcess(environment);
    await using other = await startProcess(environment);
    expect(bankql.output()).toContain(' Payment records: none. ');
    expect(await pay(bankql.url, transfer('before'))).toMatchObject({ code: 'DONE' });
    expect(await ready(bankql)).toBe(200);
    expect(sampleOf(await metricsOf(bankql), 'bankql_state_up')).toBe('1');

    const lock = new DatabaseSync(path);
    lock.exec('BEGIN IMMEDIATE');
    const refused = await Promise.all([
      pay(bankql.url, transfer('refused')),
      pay(bankql.url, transfer('refused too')),
      pay(other.url, transfer('refused')),
    ]);
    expect(refused.map(({ code }) => code)).toEqual(Array(3).fill('STATE_UNAVAILABLE'));
    expect(await ready(bankql)).toBe(200);
    const away = await metricsOf(bankql);
    expect(sampleOf(away, 'bankql_state_up')).toBe('0');
    expect(sampleOf(away, 'bankql_payment_refusals_total{why="store away"}')).toBe('2');

    lock.exec('ROLLBACK');
    lock.close();
    expect(
      await until(
        () => pay(bankql.url, transfer('after')),
        ({ code }) => code === 'DONE',
      ),
    ).toBeDefined();
    expect(await ready(bankql)).toBe(200);
    const back = await until(
      () => metricsOf(bankql),
      (text) => sampleOf(text, 'bankql_state_payments{state="PENDING"}') === '0',
    );
    expect(sampleOf(back, 'bankql_state_up')).toBe('1');
    expect(sampleOf(back, 'bankql_state_payments{state="UNKNOWN"}')).toBe('0');
    expect(sampleOf(back, 'bankql_unwritten_ends')).toBe('0');
    expect(Number(sampleOf(back, 'bankql_state_call_seconds_count{method="insert"}'))).toBeGreaterThan(3);
    // Lines of the log are written a moment later.
    await until(
      async () => linesWith(bankql, 'payment store is back').length,
      (count) => count > 0,
    );
    expect(linesWith(bankql, 'payment store is away')).toMatchObject([
      { level: 50, reason: expect.stringContaining('is not available') },
    ]);
    expect(linesWith(bankql, 'payment store is back')).toMatchObject([{ awaySeconds: expect.any(Number) }]);
    // The other process gets no payment: it finds out by itself.
    await until(
      async () => linesWith(other, 'payment store is back').length,
      (count) => count === 1,
    );
    expect(bank.of('refused')).toEqual([]);
  });
});

test('the start says how many records there are and how old the newest is', async () => {
  const environment = { BANK_BASE_URL: bank.url, STATE_URL: `sqlite:${join(folder, 'start.db')}` };
  await using first = await startProcess(environment);
  for (const key of ['start-1', 'start-2']) await pay(first.url, transfer(key));
  await first.stop();
  await using second = await startProcess(environment);
  expect(second.output()).toMatch(/ Payment records: the newest is \d+ s old\. /);
});
