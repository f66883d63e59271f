import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeSandbox } from '../../src/sandbox/describe.ts';
import { freshBank, payTo } from './bank-caller.ts';

const now = Date.UTC(2026, 0, 31);

test('says who is there, what they have and what to try', () => {
  const text = describeSandbox({ port: 4010, now });
  for (const line of [
    '  Ocp-Apim-Subscription-Key: sandbox-key',
    'alice: Αλίκη Παπαδοπούλου, a salary account, savings, a household shared with carol; 3 messages',
    '  alice-trust     trust 9007199254740993.25 EUR, 7 payees, 16 transactions',
    '  bob-current     business 3170.40 EUR, 208 payees, 25 transactions',
    '                  requests: 2 statements, 3 COMPLETED, 2 FAILED, 1 INITIATED, 1 CANCELLED, 1 PENDING',
    '  yuki-current    current 0.00 EUR, 0 payees, 0 transactions',
    '  omar-current    current -218.35 EUR, 7 payees, 17 transactions',
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).toContain('curl -X POST http://127.0.0.1:4010/sandbox/reset');
});

test('describes the scenario that is asked for', () => {
  expect(describeSandbox({ port: 4010, now, scenario: 'empty' })).toContain(
    '  bob-current     business 0.00 EUR, 0 payees, 0 transactions\n',
  );
});

test('what it says of each transfer to try is what becomes of it, and its IBANs are those of the docs', async () => {
  const docs = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
  const tries = [...describeSandbox({ port: 4010, now }).matchAll(/^ {2}(\S+) +-> (\S+) +(.*)$/gm)];
  expect(tries).toHaveLength(5);
  await using bank = await freshBank();
  for (const [, ACCOUNT_ID = '', to = '', what = ''] of tries) {
    const caller = ACCOUNT_ID.replace('-current', '');
    const answer = await bank.call('postMakeTransaction', { ACCOUNT_ID }, { body: payTo(to), caller });
    const expected = /^(FAILED|PENDING)/.exec(what)?.[0] ?? 'COMPLETED';
    if (what.startsWith('refused')) expect(answer.json).toEqual({ code: 400, message: 'Insufficient funds' });
    else expect(answer.json).toMatchObject({ status: expected });
    if (to.startsWith('GB')) expect(docs).toContain(`\`${to}\` | \`${expected}\``);
  }
});
