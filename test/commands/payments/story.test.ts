import { join } from 'node:path';
import { expect, test } from 'vitest';
import { credentials } from '../../support/bankql.ts';
import { reply } from '../../support/faulty-bank.ts';
import { logLines } from '../../support/log-lines.ts';
import { operate } from '../../support/operate.ts';
import { startPaymentBank } from '../../support/payment-bank.ts';
import { payBody, transfer } from '../../support/payment-client.ts';
import { runProcess, startProcess } from '../../support/process.ts';
import { testFolder } from '../../support/test-folder.ts';

const folder = testFolder();

test('"my transfer failed at 10:32": from the request id, or the time, to the words of the bank', async () => {
  await using bank = await startPaymentBank();
  bank.decide = () => reply(422, JSON.stringify({ message: 'The daily limit of 500 EUR is used up.' }));
  const environment = { BANK_BASE_URL: bank.url, STATE_URL: `sqlite:${join(folder, 'state.db')}` };
  await using bankql = await startProcess(environment);
  const response = await fetch(`${bankql.url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...credentials },
    body: payBody(transfer('the-key')),
  });
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BANK_REJECTED' } }] });

  // The person has the X-Request-Id of the answer; the audit line of the log has it too, and the Track-ID, at `info`.
  const requestId = response.headers.get('X-Request-Id') ?? '';
  const trackId = bank.of('the-key')[0]?.trackId ?? '';
  const lines = logLines(bankql.output(), '"audit":"payment"');
  expect(lines.find(({ state }) => state === 'REJECTED')).toMatchObject({ requestId, trackId, status: 422 });

  const textOf = async (...args: string[]) => {
    const state = { url: environment.STATE_URL, retentionMs: 86_400_000 };
    const { code, output, errors } = await operate(args, { state });
    expect([code, errors]).toEqual([0, '']);
    return output;
  };
  const { output: table } = await runProcess(environment, ['payments', 'find', '--request-id', requestId]);
  const rows = table.trimEnd().split('\n');
  expect(rows).toHaveLength(2);
  const id = rows[1]?.split(' ')[0] ?? '';
  for (const search of [
    ['--track-id', trackId],
    ['--account', 'the-key', '--since', '5m'],
    ['--caller', 'the-provider/the-caller'],
    ['--caller', 'the-provider/the-caller', '--key', 'the-key'],
  ])
    expect((await textOf('find', ...search)).split('\n')[1]).toMatch(id);

  const story = (await textOf('show', id)).split('\n\n')[1]?.trimEnd().split('\n');
  expect(story).toEqual([
    expect.stringMatching(
      new RegExp(
        `^\\S+  PENDING   recorded, to be sent, by \\S+:${bankql.child.pid}, for request ${requestId}$`,
      ),
    ),
    expect.stringMatching(
      /^\S+ {2}REJECTED {2}the bank answered 422, told as BANK_REJECTED: The daily limit of 500 EUR is used up\.$/,
    ),
  ]);
  for (const secret of Object.values(credentials)) expect(`${table}${story}`).not.toContain(secret);
});
