import { describe, expect, test } from 'vitest';
import { explainPaymentAnswer } from '../../src/doctor/explain-payment-answer.ts';
import { bankWordsOf, noBankWords } from '../../src/payments/answer/payment-words.ts';

function explain(answer: string, words = noBankWords) {
  const lines: string[] = [];
  const code = explainPaymentAnswer(answer, words, (text) => lines.push(text));
  return { code, text: lines.join('') };
}

describe('the doctor explains an answer to a payment', () => {
  test('by its state, what is not known, and the setting that helps', () => {
    const { code, text } = explain('200 {"data":{"id":"T"}}');
    expect(code).toBe(1);
    expect(text).toContain('postMakeTransaction: UNKNOWN\n');
    expect(text).toContain('not known: data.id; set BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT\n');
  });

  test('with the settings that are given', () => {
    const { code, text } = explain(
      '200 {"data":{"id":"T"}}',
      bankWordsOf([], [], { receiptPath: ['data', 'id'] }),
    );
    expect(code).toBe(0);
    expect(text).toContain('postMakeTransaction: DONE\n');
  });

  test('that was accepted, or is empty', () => {
    expect(explain('202').text).toContain('UNKNOWN (accepted, not known to be executed)');
    expect(explain('204 ').text).toContain('postMakeTransaction: DONE');
  });

  test('only if it is one', () => {
    expect(() => explain('{"id":"T"}')).toThrow('needs a status and a body');
  });
});
