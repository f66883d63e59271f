import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { credentials } from '../support/bankql.ts';
import { freePort } from '../support/loopback.ts';
import { startPaymentBank } from '../support/payment-bank.ts';
import { type BankqlProcess, post, startProcess } from '../support/process.ts';
import { keepConnecting, workersOf } from '../support/workers.ts';
import { progress } from './progress.ts';

/**
 * `npm run check:workers [-- --rounds N --signals SIGKILL,…]`: two workers under new connections, whose ends the primary has to notice: one by
 * SIGKILL or SIGABRT, then all. It replaces them, bankql answers, and SIGTERM ends it with 0. SIGTERM to a worker alone must
 * change nothing: the primary decides, because supervisors send it to a whole group. Exit code 1 if a round differs.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    signals: { type: 'string', default: 'SIGKILL,SIGABRT,SIGTERM' },
  },
});
const rounds = Number(values.rounds);
const limitMs = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'bankql-workers-'));
await using bank = await startPaymentBank();

/** Resolves when a condition on what the process has printed is met. Errors: Error after a minute. */
async function printed({ child, output }: BankqlProcess, isMet: (output: string) => boolean): Promise<void> {
  const signal = AbortSignal.timeout(limitMs);
  while (!isMet(output())) if (child.stdout !== null) await once(child.stdout, 'data', { signal });
}

const times = (line: string) => (output: string) => output.split(line).length - 1;
const ends = times('a worker ended');
const replacements = times('another worker has taken its place');

async function round(signal: NodeJS.Signals, nth: number): Promise<void> {
  await using bankql = await startProcess({
    BANK_BASE_URL: bank.url,
    BANK_ID: 'BANK',
    STATE_URL: `sqlite:${join(folder, `${signal}-${nth}.db`)}`,
    WORKERS: '2',
    // While none serves, nobody listens: with PORT=0 the next one would listen elsewhere.
    PORT: String(await freePort()),
  });
  const stop = keepConnecting(bankql.url);
  try {
    for (const count of [1, 2]) {
      const before = ends(bankql.output());
      for (const pid of workersOf(bankql).slice(0, count)) process.kill(pid, signal);
      if (signal !== 'SIGTERM')
        await printed(
          bankql,
          (output) => ends(output) === before + count && replacements(output) === ends(output),
        );
      // The primary answers nobody: an answer is a worker's.
      const answer = await post(bankql.url, '{ __typename }', credentials, AbortSignal.timeout(limitMs));
      if (JSON.stringify(answer) !== '{"data":{"__typename":"Query"}}')
        throw new Error(`${signal} to ${count}: ${JSON.stringify(answer)}`);
    }
    const code = await bankql.stop('SIGTERM');
    if (code !== 0) throw new Error(`SIGTERM ended it with ${code}`);
    if (signal === 'SIGTERM' && ends(bankql.output()) > 0) throw new Error('SIGTERM ended a worker');
  } finally {
    await stop();
  }
}

let isGood = true;
for (const signal of values.signals.split(',') as NodeJS.Signals[]) {
  let good = 0;
  for (let nth = 1; nth <= rounds; nth++) {
    progress(`${signal}, round ${nth} of ${rounds}`);
    await round(signal, nth).then(
      () => good++,
      (error: Error) => process.stdout.write(`${signal}, round ${nth}: ${error.message}\n`),
    );
  }
  const what = signal === 'SIGTERM' ? 'changed nothing' : 'noticed, and replaced';
  process.stdout.write(`${signal} to one worker, then to both: ${good} of ${rounds} ${what}\n`);
  isGood &&= good === rounds;
}
progress(null);
rmSync(folder, { recursive: true, force: true });
process.exitCode = isGood ? 0 : 1;
