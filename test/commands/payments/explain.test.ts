import { expect, test } from 'vitest';
import { runCommand } from '../../support/run-command.ts';

const explain = (answer: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(['payments', 'explain', ...answer], { environment });

test('payments explain says of an unknown answer what becomes of the key, and names the setting that helps', async () => {
  const { code, output } = await explain(['200 {"data":{"id":"T"}}']);
  expect(code).toBe(1);
  expect(output).toContain(
    'makeTransaction: UNKNOWN\n    The bank may have executed the payment. The key is used: ',
  );
  expect(output).toContain('not understood: data.id; set BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT\n');
});

test('payments explain uses the settings that are given, also those of a bankql with workers', async () => {
  const environment = {
    BANK_BASE_URL: 'https://bank.example',
    STATE_URL: 'postgres://a@127.0.0.1:1/b',
    WORKERS: '2',
    BANK_PAYMENT_RECEIPT: 'data.id',
  };
  const { code, output } = await explain(['200', '{"data":{"id":"T"}}'], environment);
  expect(code).toBe(0);
  expect(output).toContain('makeTransaction: DONE\n    The bank executed the payment. The key is used: ');
});

test.each([
  ['202', 'UNKNOWN (accepted, perhaps not executed)', 'The bank may have executed the payment.'],
  ['204 ', 'DONE', 'The bank executed the payment.'],
  ['422 {"message":"Insufficient funds"}', 'REJECTED', 'To pay, the client takes a new key.'],
  ['429 {"message":"API rate limit exceeded"}', 'RELEASED', 'the key is free: sent again, it pays.'],
])('payments explain says of %s: %s', async (answer, state, meaning) => {
  const { output } = await explain([answer]);
  expect(output).toContain(`makeTransaction: ${state}\n`);
  expect(output).toContain(meaning);
});

test.each([[[]], [['{"id":"T"}']]])('%j is no answer', async (words) => {
  const { code, errors } = await explain(words);
  expect(code).toBe(2);
  expect(errors).toMatch(/^explain takes a status and a body, such as '200 {"id":"T"}'\.\nusage: /);
});
