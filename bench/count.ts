import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/loopback.ts';
import { openBank } from './bank/stub.ts';
import { bankql, bankqlOf, type Contender, launch } from './contenders.ts';
import type { Command, Counts, CoveredCalls } from './counts/counted-process.ts';
import { AnswerReader } from './load/answer-reader.ts';
import { askOnce, requestsOf } from './load/fire.ts';
import { table } from './report/statistics.ts';
import { q1, q2, q3, q4, type Shape } from './shapes.ts';

/**
 * Counts the promises, timers, immediates and function calls of one warm request of each query, by the part of the process.
 * Also measures the bytes that six requests of Q2 hold before the bank answers. Both are the same on every machine: see
 * README.md.
 */

const { values: options } = parseArgs({
  options: { before: { type: 'string' }, check: { type: 'boolean', default: false } },
});

/**
 * The recorded counts. `--check` fails if a count exceeds them by more than the margin. undici creates a timer for each
 * connection that becomes idle, and has no option against it, so its timers are not compared.
 */
const recorded = {
  promises: { q1: 27, q2: 189, q3: 14, q4: 68 },
  timers: { q1: 3, q2: 3, q3: 2, q4: 3 },
  placeholders: { q1: 2, q2: 31, q3: 0, q4: 9 },
  loads: { q1: 1, q2: 23, q3: 0, q4: 7 },
  kilobytes: 458,
} as const;
const margin = 1.1;

/** The number of requests of a query before it is counted, so that work that happens only once is not counted. */
const warmUps = 60;
const inFlight = 6;

const bank = await openBank();
const folder = mkdtempSync(join(tmpdir(), 'bankql-counts-'));

async function start(contender: Contender) {
  const port = await freePort();
  const { command, environment } = launch(contender, bank.url, port);
  const [file = '', main = ''] = command;
  const args = ['--expose-gc', join(import.meta.dirname, 'counts/counted-process.ts'), main];
  const child = spawn(file, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      NODE_ENV: 'production',
      ...environment,
      BANK_CONNECTIONS: '512',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  for (const latest = performance.now() + 60_000; ; await delay(20)) {
    if (await askOnce(port, q3.query).then(Boolean, () => false)) return { child, port };
    if (child.exitCode !== null || performance.now() > latest)
      throw new Error('the counted process did not start');
  }
}

async function order<T = void>(child: ChildProcess, command: Command): Promise<T> {
  const answered = once(child, 'message');
  child.send(command);
  const [{ answer }] = await answered;
  return answer;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket, request: Buffer | undefined): Promise<void> {
  if (request === undefined) throw new Error('there is no such caller');
  const reader = new AnswerReader();
  socket.write(request);
  for (;;) {
    const [bytes] = await once(socket, 'data');
    const body = reader.take(bytes);
    if (body === null) continue;
    if (JSON.parse(body.toString()).errors) throw new Error(`errors in ${body.toString('utf8', 0, 1000)}`);
    return;
  }
}

const total = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Figures with their parts, as `200 (bank 100, schema 100)`. */
const inParts = (counts: Readonly<Record<string, number>>) =>
  `${total(counts)} (${Object.entries(counts)
    .filter(([, count]) => count > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([group, count]) => `${group} ${count}`)
    .join(', ')})`;

async function countOf(contender: Contender) {
  const { child, port } = await start(contender);
  const sockets = await Promise.all(Array.from({ length: inFlight }, () => open(port)));
  const [socket] = sockets;
  if (socket === undefined) throw new Error('no connection');
  const counted = new Map<string, Counts & CoveredCalls>();
  for (const shape of [q1(), q2(), q3, q4] satisfies Shape[]) {
    const requests = requestsOf(shape.query, port);
    let caller = 0;
    for (; caller < warmUps; caller++) await ask(socket, requests[caller]);
    await order(child, 'count');
    await ask(socket, requests[caller++]);
    await delay(50);
    const counts = await order<Counts>(child, 'counted');
    await order(child, 'cover');
    await ask(socket, requests[caller++]);
    await delay(50);
    counted.set(shape.name, { ...counts, ...(await order<CoveredCalls>(child, 'covered')) });
  }
  const requests = requestsOf(q2().query, port);
  const askAll = (from: number) => Promise.all(sockets.map((each, nth) => ask(each, requests[from + nth])));
  for (let round = 0; round < 20; round++) await askAll(100 + round * inFlight);
  const idle = await order<number>(child, 'alive');
  const latencyMs = 1500;
  bank.reset(latencyMs);
  const asked = askAll(400);
  while (total(bank.calls()) < 10 * inFlight) await delay(5);
  const alive = (await order<number>(child, 'alive')) - idle;
  await asked;
  bank.reset();
  for (const each of sockets) each.destroy();
  child.kill();
  await once(child, 'exit');
  return { counted, alive };
}

const contenders = options.before === undefined ? [bankql] : [bankqlOf(options.before), bankql];
const exceeded: string[] = [];
for (const contender of contenders) {
  const { counted, alive } = await countOf(contender);
  const rows = [...counted].map(([name, counts]) => [
    name.toUpperCase(),
    inParts(counts.promises),
    inParts(counts.timers),
    inParts(counts.immediates),
    inParts(counts.calls),
    String(counts.marked.placeholders),
    String(counts.marked.loads),
  ]);
  const header = ['', 'promises', 'timers', 'immediates', 'function calls', 'placeholders', 'loads'];
  const kilobytes = Math.round(alive / 1000);
  process.stdout.write(
    `${contender.title}\n\n${table(header, rows)}\n\n${inFlight} Q2 in flight hold ${kilobytes} kB.\n\n`,
  );
  const compare = (what: string, count: number, most: number) => {
    if (count > most * margin) exceeded.push(`${what}: ${count} instead of ${most}`);
  };
  for (const [name, { promises, timers, marked }] of counted) {
    const { undici = 0, ...ownTimers } = timers;
    compare(`${name}, placeholders`, marked.placeholders, Reflect.get(recorded.placeholders, name));
    compare(`${name}, loads`, marked.loads, Reflect.get(recorded.loads, name));
    compare(`${name}, promises`, total(promises), Reflect.get(recorded.promises, name));
    compare(
      `${name}, timers without undici's ${undici}`,
      total(ownTimers),
      Reflect.get(recorded.timers, name),
    );
  }
  compare('kilobytes alive', kilobytes, recorded.kilobytes);
}
rmSync(folder, { recursive: true });
if (options.check && exceeded.length > 0)
  process.stderr.write(`Exceeded by more than a tenth:\n${exceeded.join('\n')}\n`);
process.exit(options.check && exceeded.length > 0 ? 1 : 0);
