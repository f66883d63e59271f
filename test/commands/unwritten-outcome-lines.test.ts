import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accept, startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { durable, hasPostgres, startPostgres } from '../support/postgres.ts';
import { runProcess, startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

/** A process that ends at once writes the ends of payments that the store does not know to the log, which is read back. */

const folder = testFolder();

/** Loaded before the process: a signal makes it fail where no request is answered. */
const saboteur = `process.on('SIGUSR2', () => { throw new Error('a crash'); });`;

test.skipIf(!hasPostgres).each<[string, NodeJS.Signals[]]>([
  ['a second SIGTERM', ['SIGTERM', 'SIGTERM']],
  ['a crash', ['SIGUSR2']],
])('after %s', async (what, signals) => {
  await using postgres = await startPostgres(durable);
  await using bank = await startPaymentBank();
  // One that is under way keeps the process from its end at the first signal.
  bank.decide = (payment) => (socket) => {
    if (payment.account === 'under%20way') return;
    void postgres.kill().then(() => accept(payment)(socket));
  };
  const environment = { BANK_BASE_URL: bank.url, STATE_URL: postgres.url };
  await using bankql = await startProcess({
    ...environment,
    NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(saboteur).toString('base64')}`,
  });
  const underWay = pay(bankql.url, transfer('under way')).catch(() => 'no answer');
  await expect.poll(() => bank.payments.length).toBe(1);
  const paid = await pay(bankql.url, transfer('key'));
  expect(paid).toMatchObject({ code: 'DONE', replayed: false });
  let ended: Promise<unknown> | null = null;
  for (const [nth, signal] of signals.entries()) {
    ended = bankql.stop(signal);
    // Each writes the line: a second signal is none while the first one waits to be seen.
    await expect
      .poll(() => bankql.output().split('"event":"unwritten-end"').length - 1, { interval: 5 })
      .toBeGreaterThan(nth);
  }
  expect(await ended).toBe(1);
  expect(await underWay).toBe('no answer');

  // Somebody starts the store again, and reads the log back.
  await postgres.restart();
  const log = join(folder, `${what}.log`);
  writeFileSync(log, bankql.output());
  const settled = await runProcess(environment, ['payments', 'settle', '--from-log', log, '--yes']);
  expect(settled.output).toContain('Wrote 1 of 1.');
  expect(settled.code).toBe(0);
  await using next = await startProcess(environment);
  expect(await pay(next.url, transfer('key'))).toEqual({ ...paid, replayed: true });
  expect(bank.of('key')).toHaveLength(1);
});
