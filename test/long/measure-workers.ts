// Requests a second of one worker and of two: `node test/long/measure-workers.ts [--seconds N] [--rounds N]`. The load takes
// its own part of the same cores; it does as little for an answer as can be, and says how much that was.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startProcess } from '../support/process.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '8' }, rounds: { type: 'string', default: '3' } },
});
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0) || !(rounds > 0)) {
  say('Give --seconds and --rounds as numbers above 0.');
  process.exit(2);
}

const connections = 32;
/** Until a worker's code is compiled. */
const warmUpRequests = 10_000;
// Public data: the bank is asked for it once a minute, so that what is measured is bankql.
const query = '{ bank { branches(first: 20) { nodes { branchId name address { line1 city } } } } }';
const branch = (n: number) => ({
  id: `b-${n}`,
  bank_id: 'BANK',
  name: `Branch ${n}`,
  address: { line_1: `${n} Main Street`, city: 'Nicosia', country_code: 'CY' },
});
const branches = JSON.stringify({ branches: Array.from({ length: 20 }, (_, n) => branch(n)) });

const folder = mkdtempSync(join(tmpdir(), 'bankql-measure-'));
const bank = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(branches);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => bank.once('listening', resolve));
const { port: bankPort } = bank.address() as AddressInfo;

const body = JSON.stringify({ query });
const request = Buffer.from(
  `POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nOcp-Apim-Subscription-Key: k\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

/** Keeps a connection busy with one request at a time. `answered` is called at each whole answer. */
function keepBusy(port: number, answered: () => void) {
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  socket.setNoDelay(true);
  let [length, received] = [0, 0];
  socket.on('data', (chunk) => {
    if (length === 0) {
      const text = chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n') + 4;
      if (!text.startsWith('HTTP/1.1 200') || text.includes('"errors"')) throw new Error(text);
      // All answers are of one length: what varies in them does not vary in length.
      length = head + Number(/content-length: (\d+)/i.exec(text)?.[1]);
    }
    received += chunk.length;
    if (received < length) return;
    received -= length;
    answered();
    socket.write(request);
  });
  return socket;
}

async function measure(workers: number) {
  await using bankql = await startProcess({
    BANK_BASE_URL: `http://127.0.0.1:${bankPort}`,
    BANK_ID: 'BANK',
    STATE_URL: `sqlite:${join(folder, 'state.db')}`,
    WORKERS: String(workers),
    LOG_LEVEL: 'warn',
  });
  const port = Number(new URL(bankql.url).port);
  let answers = 0;
  const sockets = Array.from({ length: connections }, () => keepBusy(port, () => answers++));
  while (answers < warmUpRequests * workers) await delay(50);
  const [began, before, used] = [performance.now(), answers, process.cpuUsage()];
  await delay(seconds * 1000);
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(used);
  const perSecond = (answers - before) / took;
  for (const socket of sockets) socket.destroy();
  return { perSecond, loadShare: (user + system) / 1e6 / took };
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

say(`${availableParallelism()} cores, ${connections} connections, ${rounds} rounds of ${seconds} s in turn`);
const found = new Map([1, 2].map((workers) => [workers, [] as number[]]));
for (let round = 0; round < rounds; round++) {
  for (const [workers, perSecond] of found) {
    const one = await measure(workers);
    perSecond.push(one.perSecond);
    say(
      `  ${workers}: ${one.perSecond.toFixed(0)} a second, the load took ${one.loadShare.toFixed(2)} cores`,
    );
  }
}
const [one = Number.NaN, two = Number.NaN] = [...found.values()].map(median);
say(
  `1 worker ${one.toFixed(0)}, 2 workers ${two.toFixed(0)} requests a second: ${(two / one).toFixed(2)} times`,
);
bank.close();
rmSync(folder, { recursive: true });
