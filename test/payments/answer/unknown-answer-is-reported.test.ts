import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { StrangeAnswer } from '../../../src/payments/answer/classify.ts';
import { createTelemetry } from '../../../src/telemetry/metrics.ts';
import { credentials } from '../../support/bankql.ts';
import { startBankqlFixture } from '../../support/bankql-fixture.ts';
import { pay, transfer } from '../../support/payment-client.ts';

const answer: StrangeAnswer = {
  operation: 'postMakeTransaction',
  status: 422,
  names: ['message'],
  text: 'Saldo 12 insuficiente',
  hint: 'BANK_PAYMENT_REJECTED',
};

describe('an answer to a payment that bankql does not know', () => {
  test('is reported with its members, the text of a refusal without credentials, and the setting that helps', async () => {
    const told: StrangeAnswer[] = [];
    const onUnknownAnswer = (strange: StrangeAnswer) => void told.push(strange);
    await using fixture = await startBankqlFixture({ paymentOptions: { onUnknownAnswer } });
    const body = { message: `Saldo insuficiente, ${credentials['Auth-ID']}`, extra: 1 };
    for (const [key, answered] of Object.entries({
      refused: { status: 422, body },
      'with a note': { body: { id: 'T', note: 'x', message: 'a text of a person' } },
      done: { body: { id: 'T' } },
      'over a limit': { status: 429, body: 'Slow down. Wait 9 s.' },
      forbidden: { status: 403, body: { message: 'Old key' } },
      broken: { status: 503, body: { message: 'Later' } },
    })) {
      fixture.bank.otherwise(answered);
      await pay(fixture.bankql, transfer(key));
    }
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

  test('is counted each time; each operation, status and code (never a text) has a series of its own', async () => {
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
