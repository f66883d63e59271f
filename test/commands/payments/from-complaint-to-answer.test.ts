import { exec } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { lease, pending, unknown } from '../../payments/store/store-conformance.ts';
import { credentials } from '../../support/bankql.ts';
import { compileCache } from '../../support/compile-cache.ts';
import { reply } from '../../support/faulty-bank.ts';
import { logLines } from '../../support/log-lines.ts';
import { ada, inStore, operate } from '../../support/operate.ts';
import { startPaymentBank } from '../../support/payment-bank.ts';
import { payBody, transfer } from '../../support/payment-client.ts';
import { entry, runProcess, startProcess } from '../../support/process.ts';
import { testFolder } from '../../support/test-folder.ts';

const folder = testFolder();

test('the complaint "my transfer failed at 10:32" leads from the request id, or the time, to the words of the bank', async () => {
  await using bank = await startPaymentBank();
  bank.decide = () => reply(422, JSON.stringify({ message: 'The daily limit is exceeded.' }));
  const environment = { BANK_BASE_URL: bank.url, STATE_URL: `sqlite:${join(folder, 'state.db')}` };
  expect(await runProcess(environment, ['payments', 'init'])).toMatchObject({ code: 0 });
  await using bankql = await startProcess(environment);
  const response = await fetch(`${bankql.url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...credentials },
    body: payBody(transfer('the-key')),
  });
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BANK_REJECTED' } }] });

  // The person has the X-Request-Id of the answer. The audit line in the log has this id and the Track-ID, at
  // the level `info`.
  const requestId = response.headers.get('X-Request-Id') ?? '';
  const trackId = bank.of('the-key')[0]?.trackId ?? '';
  const lines = logLines(bankql.output(), '"audit":"payment"');
  expect(lines.find(({ state }) => state === 'REJECTED')).toMatchObject({ requestId, trackId, status: 422 });

  const textOf = async (...args: string[]) => {
    const { code, output, errors } = await operate(args, { url: environment.STATE_URL });
    expect([code, errors]).toEqual([0, '']);
    return output;
  };
  const { output: table } = await runProcess(environment, ['payments', 'list', '--request-id', requestId]);
  const rows = table.trimEnd().split('\n');
  expect(rows).toHaveLength(2);
  const id = rows[1]?.split(' ')[0] ?? '';
  for (const search of [
    ['--track-id', trackId],
    ['--account', 'the-key', '--since', '5m'],
    ['--caller', 'the-provider/the-caller'],
    ['--caller', 'the-provider/the-caller', '--key', 'the-key'],
  ])
    expect((await textOf('list', ...search)).split('\n')[1]).toMatch(id);

  const story = (await textOf('show', id)).split('\n\n')[1]?.trimEnd().split('\n');
  expect(story).toEqual([
    expect.stringMatching(
      new RegExp(
        `^\\S+  PENDING   recorded, to be sent, by \\S+:${bankql.child.pid}, for request ${requestId}$`,
      ),
    ),
    expect.stringMatching(
      /^\S+ {2}REJECTED {2}the bank answered 422, told as BANK_REJECTED: The daily limit is exceeded\.$/,
    ),
  ]);
  for (const secret of Object.values(credentials)) expect(`${table}${story}`).not.toContain(secret);
});

test('a command that writes to the store ends by itself', async () => {
  const { id, trackId } = pending();
  const STATE_URL = `sqlite:${join(folder, 'of-the-commands.db')}`;
  await inStore(STATE_URL, async (store) => {
    await store.begin(pending(), lease);
    await store.end({ id, trackId, outcome: unknown });
  });
  const settled = await runProcess({ STATE_URL }, [
    'payments',
    'settle',
    id,
    '--as',
    'done',
    ...ada,
    '--yes',
  ]);
  expect(settled).toMatchObject({
    code: 0,
    output: expect.stringContaining('Settled 1 of 1 as DONE by Ada'),
  });
});

test('a reader that closes the pipe is not an error', async () => {
  const STATE_URL = `sqlite:${join(folder, 'many.db')}`;
  await inStore(STATE_URL, (store) =>
    Promise.all(
      Array.from({ length: 200 }, (_, n) => store.begin(pending({ id: `${n}`.padStart(64, 'b') }), lease)),
    ),
  );
  const command = `"${process.execPath}" "${entry()}" payments list --limit 200 --json; echo "exit code $?" >&2`;
  // The command prints its own exit code, because that of the pipeline would be the exit code of `head`.
  const { stdout, stderr } = await promisify(exec)(`(${command}) | head -c 1`, {
    env: { ...compileCache, PATH: process.env.PATH ?? '', STATE_URL },
  });
  expect([stdout, stderr]).toEqual(['[', 'exit code 0\n']);
});
