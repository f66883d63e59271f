import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openStore } from '../../../../src/payments/store/open-store.ts';
import { createTestBankql } from '../../../support/bankql.ts';
import { ada, operate } from '../../../support/operate.ts';
import { startPaymentBank } from '../../../support/payment-bank.ts';
import { pay } from '../../../support/payment-client.ts';
import { durable, hasPostgres, startPostgres } from '../../../support/postgres.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { payments } from './payments.ts';

/** Stores that released versions have written (write-format.ts). */

const formats = readdirSync(import.meta.dirname).filter((name) => /^\d+$/.test(name));
/** The records are as old as their version, so the retention must be long. */
const retentionMs = 100 * 365 * 24 * 60 * 60 * 1000;
const folder = testFolder();
const told = z.object({ code: z.string(), trackId: z.string(), transactionId: z.string().nullable() });
const toldByStore = z.record(z.enum(['sqlite', 'postgres']), z.record(z.string(), told));

describe.each(formats)('format %s', (format) => {
  const file = (name: string) => join(import.meta.dirname, format, name);
  const known = toldByStore.parse(JSON.parse(readFileSync(file('told.json'), 'utf8')));

  /** Repeats each payment, and pays a new one. */
  async function expectAnswers(url: string, earlier: (typeof known)['sqlite']) {
    await using bank = await startPaymentBank();
    const store = await openStore(url, { retentionMs });
    await using bankql = await createTestBankql({ bankUrl: bank.url, store });
    for (const { name, input, code, ...options } of payments) {
      const first = earlier[name] ?? expect.fail(name);
      const { trackId } = first;
      const again = await pay(bankql, input, options);
      expect(again).toMatchObject({ code, trackId, replayed: code === 'DONE' });
      if (code === 'DONE') expect(again).toMatchObject(first);
      expect(await pay(bankql, { ...input, value: { amount: '1' } }, options)).toMatchObject({
        code: 'IDEMPOTENCY_KEY_REUSED',
      });
    }
    expect(bank.payments).toEqual([]);
    const [first] = payments;
    expect(await pay(bankql, { ...(first?.input ?? expect.fail()), idempotencyKey: 'new' })).toMatchObject({
      code: 'DONE',
      replayed: false,
    });
    expect(bank.payments).toHaveLength(1);
    await store.close();
  }

  test('in SQLite: each key that is repeated is answered from the store, and nothing is sent', async () => {
    const path = join(folder, format, 'state.db');
    mkdirSync(join(folder, format));
    copyFileSync(file('state.db'), path);
    await expectAnswers(`sqlite:${path}`, known.sqlite);
  });

  test.skipIf(!hasPostgres)('in PostgreSQL: the same, once an operator accepted the new server', async () => {
    await using server = await startPostgres(durable);
    await server.query(`SET ROLE bankql; ${readFileSync(file('postgres.sql'), 'utf8')}`);
    const { output } = await operate(['accept-loss', ...ada, '--yes'], {
      url: server.url,
    });
    expect(output).toMatch(/its server changed from system \d+ to system \d+/);
    await expectAnswers(server.url, known.postgres);
  });
});
