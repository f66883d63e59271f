import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bankId } from '../../bench/bank/records.ts';
import { openBank } from '../../bench/bank/stub.ts';
import { bankql } from '../../bench/contenders.ts';
import { later } from '../support/faulty-bank.ts';
import { startPaymentBank } from '../support/payment-bank.ts';
import { baseImage, buildImage, image, makeBase } from './image/build.ts';
import { wrongContents } from './image/contents.ts';
import { type Container, type Engine, startEngine, whyNone } from './image/engine.ts';
import { startLoad } from './memory/load.ts';
import { progress, waitSeconds } from './progress.ts';
import { good, outcomeOf } from './rolling/load.ts';
import { checkServed } from './served.ts';

/**
 * `node test/long/check-image.ts [--seconds N]`: builds ops/Dockerfile without Docker's engine and without a registry of images,
 * checks the contents of the image, and runs it as ops/ does. It checks the answers, the health check, signals, and the memory
 * limit under load for this number of seconds. Exit code 1 if a check fails.
 */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '30' } } });
const seconds = Number(values.seconds);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0)) {
  say('Give --seconds as a number above 0.');
  process.exit(2);
}
const reason = whyNone();
if (reason !== null) {
  say(`skipped: ${reason}`);
  process.exit(0);
}

const problems: string[] = [];
const check = (isSo: boolean, problem: string) => {
  if (!isSo) problems.push(problem);
};

/** Runs a part of the check, and prints its result if it succeeds. */
async function part(shows: string, checking: Promise<void>): Promise<void> {
  const before = problems.length;
  await checking;
  if (problems.length === before) say(shows);
}

/** Checks the answers from the sandbox bank, the user of the process, and that SIGUSR1 opens no inspector. */
async function checkServing(engine: Engine): Promise<void> {
  const container = await engine.start(image, 512, { NODE_ENV: 'development', SANDBOX_PORT: '0' });
  await checkServed(`${container.url}/graphql`);
  const metrics = await (await fetch(container.metricsUrl)).text();
  check(/^bankql_\w+.* \d/m.test(metrics), `/metrics answers ${metrics.slice(0, 200)}`);
  await container.checkHealth();

  const status = await container.exec('cat', '/proc/1/status');
  for (const line of [/^Uid:(\t1000){4}$/m, /^Gid:(\t1000){4}$/m, /^CapEff:\t0+$/m, /^NoNewPrivs:\t1$/m])
    check(line.test(status), `its process has no line ${line}`);
  for (const folder of ['/bankql', '/tmp', '/var/tmp']) {
    const isWritten = await container.exec('touch', `${folder}/written`).then(
      () => true,
      () => false,
    );
    check(!isWritten, `${folder} can be written`);
  }
  await container.signal('USR1');
  await delay(500);
  await checkServed(`${container.url}/graphql`);
  check(!/Debugger listening/.test(container.output()), 'SIGUSR1 opens an inspector');
  await checkEnd(container);
}

/** Sends SIGTERM while a payment is in progress: the payment ends first. */
async function checkDrain(engine: Engine): Promise<void> {
  await using bank = await startPaymentBank();
  const act = bank.decide;
  bank.decide = (payment) => later(2000, act(payment));
  const container = await engine.start(image, 512, {
    BANK_BASE_URL: bank.url,
    BANK_ID: 'BANK',
    STATE_URL: 'memory:',
    IDENTITY: 'headers',
  });
  const outcome = outcomeOf(container.url, 'drain');
  while (bank.payments.length === 0) await delay(10);
  await checkEnd(container);
  check((await outcome) === good, `the payment under way was answered with ${await outcome}`);
  check(bank.payments.length === 1, `the payment was at the bank ${bank.payments.length} times`);
}

async function checkEnd(container: Container): Promise<void> {
  // The container may have been killed before.
  await container.signal('TERM').catch(() => {});
  const code = await container.ended;
  check(code === 0, `SIGTERM ends it with exit code ${code}: ${container.output().slice(-1000)}`);
}

/** Runs the bench's Q4 at full speed, with this memory limit, which the kernel enforces here. */
async function checkMemory(engine: Engine, megabytes: number): Promise<void> {
  await using bank = await openBank();
  bank.reset();
  const container = await engine.start(image, megabytes, {
    BANK_BASE_URL: bank.url,
    ...bankql.environment,
    BANK_ID: bankId,
    STATE_URL: 'memory:',
  });
  const heap = Number(
    await container.exec('node', '--print', 'v8.getHeapStatistics().heap_size_limit / 2 ** 20'),
  );
  const load = startLoad({ url: container.url, connections: 64, uniquePercent: 10 });
  await waitSeconds(seconds, `${megabytes} MB under load`);
  await load.stop();
  const outcomes = load.outcomes();
  say(`${megabytes} MB, a heap of ${heap.toFixed(0)} MB, ${seconds} s of load: ${JSON.stringify(outcomes)}`);
  const wrong = Object.keys(outcomes).filter((outcome) => !/^200$|^503 OVERLOADED$/.test(outcome));
  check(wrong.length === 0, `within ${megabytes} MB answers are neither good nor 503: ${wrong.join(', ')}`);
  check(heap < megabytes, `within ${megabytes} MB its heap may have ${heap} MB`);
  await checkEnd(container);
  check(!(await container.wasOutOfMemory()), `it was killed within ${megabytes} MB`);
}

await using engine = await startEngine();
const end = () => void engine[Symbol.asyncDispose]().then(() => process.exit(130));
process.once('SIGINT', end).once('SIGTERM', end);
await makeBase(engine);
await buildImage(engine);
say(`built from ${baseImage.split('/').at(-1)}, made here of Debian, Node and npm`);
problems.push(...(await wrongContents(engine, say)));
await part(
  "it serves the README's query, GraphiQL and metrics as 1000:1000 with nothing to write to; its health check passes",
  checkServing(engine),
);
await part('SIGTERM lets a payment that is under way end, and it is answered', checkDrain(engine));
for (const megabytes of [256, 512]) await checkMemory(engine, megabytes);
progress(null);
for (const problem of problems) say(`FAILED: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
