import { expect, test } from 'vitest';
import { freePort } from '../support/loopback.ts';
import { runCommand } from '../support/run-command.ts';

/** The output of `bankql sandbox`, which is stopped as soon as it has started. */
async function run(environment: Record<string, string>, args: readonly string[] = []) {
  const told = await runCommand(['sandbox', ...args], { environment });
  if (typeof told.code === 'object') await told.code.stop();
  return told;
}

test('bankql sandbox: options come before the variables of the same meaning', async () => {
  const [port, other] = [await freePort(), await freePort()];
  const { output } = await run({ SANDBOX_PORT: String(other) }, ['--port', String(port)]);
  expect(output).toContain(`The sandbox bank answers at http://127.0.0.1:${port}, to callers alice, `);
});

test('bankql sandbox takes a port that bankql itself would take', async () => {
  const port = String(await freePort());
  expect((await run({ METRICS_PORT: port }, ['--port', port])).output).toContain(`127.0.0.1:${port}`);
});

test.each([
  [['--now', 'x'], {}, '--now=x cannot be used: give a time such as'],
  [['--port=abc'], { SANDBOX_PORT: '4711' }, '--port=abc cannot be used: give a whole number from 0 to'],
  [['--port', '4712'], { SANDBOX_NOW: 'later' }, 'SANDBOX_NOW=… cannot be used: no variable has this name'],
])('a value that cannot be used is named as it was given: %j %j', async (args, environment, message) => {
  expect((await run(environment, args)).errors.startsWith(message)).toBe(true);
});
