import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { StrangeAnswer } from '../../../src/payments/answer/classify.ts';
import { createPaymentService } from '../../../src/payments/service.ts';
import { createMemoryStore } from '../../../src/payments/store/memory-store.ts';
import { createTelemetry } from '../../../src/telemetry/metrics.ts';
import { createTestBankql, credentials, testOptions } from '../../support/bankql.ts';
import { startRecordingBank } from '../../support/recording-bank.ts';

const pay = (key: string) =>
  `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "x" }, value: { amount: "1" }, idempotencyKey: "${key}" }) { replayed } }`;

const answer: StrangeAnswer = {
  operation: 'postMakeTransaction',
  status: 422,
  names: ['message'],
  text: 'Saldo 12 insuficiente',
  hint: 'BANK_PAYMENT_REJECTED',
};

describe('an answer to a payment that is not known', () => {
  test('is reported with its members, the bank’s text of a 4xx without credentials, and the setting', async () => {
    await using bank = await startRecordingBank();
    const options = await testOptions({ bankUrl: bank.url });
    const told: StrangeAnswer[] = [];
    const payments = createPaymentService({
      bank: options.bank,
      store: await createMemoryStore({ retentionMs: 86_400_000 }),
      leaseMs: 10_000,
      onUnknownAnswer: (strange) => told.push(strange),
    });
    await using bankql = await createTestBankql({ bankUrl: bank.url, payments });
    const body = { message: `Saldo insuficiente, ${credentials['Auth-ID']}`, extra: 1 };
    bank.otherwise({ status: 422, body });
    await bankql.ask(pay('one'));
    bank.otherwise({ body: { id: 'T', note: 'x', message: 'a text of a person' } });
    await bankql.ask(pay('two'));
    bank.otherwise({ body: { id: 'T' } });
    await bankql.ask(pay('three'));
    bank.otherwise({ status: 429, body: 'Slow down. Wait 9 s.' });
    await bankql.ask(pay('four'));
    bank.otherwise({ status: 403, body: { message: 'Old key' } });
    await bankql.ask(pay('five'));
    bank.otherwise({ status: 503, body: { message: 'Later' } });
    await bankql.ask(pay('six'));
    const operation = 'postMakeTransaction';
    expect(told).toEqual([
      {
        ...{ operation, status: 422, names: ['message', 'extra'], hint: 'BANK_PAYMENT_REJECTED' },
        text: 'Saldo insuficiente, [redacted]',
      },
      {
        ...{ operation, status: 200, names: ['note', 'message'], text: null },
        hint: 'BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT',
      },
      {
        ...{ operation, status: 429, names: [], text: 'Slow down. Wait 9 s.' },
        hint: 'BANK_PAYMENT_NOT_SENT',
      },
      {
        ...{ operation, status: 403, names: ['message'], text: 'Old key' },
        hint: 'BANK_PAYMENT_REJECTED or BANK_PAYMENT_NOT_SENT',
      },
    ]);
  });

  test('is counted each time, and a kind by its operation, its status and its code, which is no text', async () => {
    const logger = pino({ level: 'silent' });
    const telemetry = createTelemetry(logger, logger);
    const { operation } = answer;
    const kinds = async () =>
      (await telemetry.registry.getSingleMetric('bankql_payment_answer_unknown')?.get())?.values ?? [];
    expect(await kinds()).toEqual([]);
    for (const code of ['E51', 'E51', undefined, 'two words', 'x'.repeat(33)])
      telemetry.onUnknownAnswer({ ...answer, code });
    telemetry.onUnknownAnswer({ ...answer, status: 400, code: 'E51' });
    expect(await kinds()).toMatchObject(
      [
        ['422', 'E51'],
        ['422', 'none'],
        ['422', 'other'],
        ['400', 'E51'],
      ].map(([status, code]) => ({ value: 1, labels: { bank_operation: operation, status, code } })),
    );
    expect(await telemetry.registry.metrics()).toContain(
      `bankql_payment_answers_unknown_total{bank_operation="${operation}"} 6\n`,
    );
    for (let n = 0; n < 1000; n++) telemetry.onUnknownAnswer({ ...answer, code: `C${n}` });
    expect((await kinds()).length).toBeLessThan(110);
  });

  test('is logged once for each shape, up to a maximum number of shapes', () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(line) });
    const telemetry = createTelemetry(logger, logger);
    telemetry.onUnknownAnswer(answer);
    telemetry.onUnknownAnswer({ ...answer, text: 'Saldo 13 insuficiente' });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject(answer);
    telemetry.onUnknownAnswer({ ...answer, names: ['detail'] });
    expect(lines).toHaveLength(2);
    for (let n = 0; n < 1000; n++) telemetry.onUnknownAnswer({ ...answer, names: ['x'.repeat(n + 1)] });
    expect(lines).toHaveLength(100);
  });
});
