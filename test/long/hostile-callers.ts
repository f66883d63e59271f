import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type BankqlProcess, startProcess } from '../support/process.ts';
import { createRandom } from './accepted-requests.ts';
import { pinApart } from './cores.ts';
import { createSender } from './hostile-requests.ts';
import { progress } from './progress.ts';

/** What a caller within the limits does, again and again, on each of its connections. */
export const behaviours = {
  'large answers':
    '{bank{branches(first:11){nodes{bank{branches{nodes{id branchId name address{city line1}}}}}}}}',
  'searches by distance':
    '{bank{branches{nodes{bank{branches(near:{latitude:1,longitude:2},orderBy:DISTANCE,first:0){totalCount}}}}}}',
  'searches by city': `{bank{${Array.from({ length: 29 }, (_, n) => `b${n}:branches(city:"C${n}"){totalCount}`).join(' ')}}}`,
  'twenty REST calls': `{bank{${Array.from({ length: 20 }, (_, n) => `c${n}:customer(customerId:"RANDOM-${n}"){email}`).join(' ')}}}`,
  "updates of somebody else's record":
    'mutation{updateCustomer(input:{customerId:"good",changes:{email:"e"}}){trackId}}',
  'lists of payments': `{${Array.from({ length: 20 }, (_, n) => `p${n}:payments(first:${100 - n}){nodes{id}}`).join(' ')}}`,
  'failing fields': `{bank{${Array.from({ length: 29 }, (_, n) => `b${n}:branches{nodes{bank{branches(first:-1){totalCount}}}}`).join(' ')}}}`,
  'bodies that stop': '{bank{branches{totalCount}}}',
  'answers that nobody reads': '{bank{branches{nodes{id name address{city line1}}}}}',
} as const;
export type Behaviour = keyof typeof behaviours;

/** One group of callers, all of whom do the same. */
export interface Group {
  readonly behaviour: Behaviour;
  readonly logins: number;
  /** How many requests of each login are under way at the same time. */
  readonly connections: number;
}

/** What good callers feel of an attack. */
interface Felt {
  readonly groups: readonly Group[];
  readonly p99: number;
  readonly refused: number;
  /** The codes with which they were refused. */
  readonly codes: ReadonlySet<string>;
  readonly asked: number;
  readonly isAlive: boolean;
  readonly residentMegabytes: number;
}

/** The heaps, in megabytes: a small container's and a large one's. */
const heaps = [256, 2048];
/** What the good caller's 99th percentile may be: so many times what it is alone, or this in any case, in milliseconds. */
const mostTimes = 10;
const unfeltMs = 300;
/** How much more than its heap the process may hold, in megabytes. */
const besideHeap = 150;
const trialMs = 5000;
const readsPerSecond = 40;

/** A bank of 1,000 branches that answers at once, and refuses the key of those who made one up. */
async function startBank() {
  const branches = JSON.stringify({
    branches: Array.from({ length: 1000 }, (_, n) => ({
      id: `b${n}`,
      acceptsDeposits: true,
      name: `Branch ${n}`,
      address: { city: `C${n % 50}`, line_1: `${n} Long Street of the Town` },
      location: { latitude: n % 90, longitude: n % 180 },
    })),
  });
  const server = createServer(({ url = '', headers }, response) => {
    const status = headers['ocp-apim-subscription-key'] === 'made-up' ? 401 : 200;
    const body = url.endsWith('/branches') ? branches : '{"email":"somebody@bank.example"}';
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(status === 200 ? body : '{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function residentMegabytes(pid: number | undefined): number {
  try {
    return Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

const isAlive = ({ child }: BankqlProcess) => child.exitCode === null && child.signalCode === null;

/** What a good caller, who reads one record at a time, and now and then updates their own, feels of these groups. */
async function feel(bankql: BankqlProcess, groups: readonly Group[]): Promise<Felt> {
  const workerData = { url: bankql.url, groups };
  const attackers = new Worker(new URL('./hostile-caller-thread.ts', import.meta.url), { workerData });
  const good = createSender(bankql.url, 'good');
  const waits: Promise<number>[] = [];
  let refused = 0;
  const codes = new Set<string>();
  let most = 0;
  await delay(1000);
  const beginning = performance.now();
  while (performance.now() - beginning < trialMs) {
    const due = beginning + (waits.length * 1000) / readsPerSecond;
    await delay(Math.max(0, due - performance.now()));
    most = Math.max(most, residentMegabytes(bankql.child.pid));
    const query =
      waits.length % 10 === 9
        ? 'mutation { updateCustomer(input: { customerId: "good", changes: { email: "good" } }) { trackId } }'
        : `{ bank { customer(customerId: "c${waits.length}") { email } } }`;
    waits.push(
      good.send({ body: JSON.stringify({ query }) }).then(({ text }) => {
        if (!text.startsWith('{"data"') || text.includes('"errors"')) {
          refused++;
          codes.add(/"code":"(\w+)"/.exec(text)?.[1] ?? 'no answer');
        }
        return performance.now() - due;
      }),
    );
  }
  const times = (await Promise.all(waits)).sort((a, b) => a - b);
  attackers.postMessage('end');
  await once(attackers, 'exit');
  await good.close();
  return {
    groups,
    p99: times[Math.floor(0.99 * (times.length - 1))] ?? Number.NaN,
    refused,
    codes,
    asked: times.length,
    isAlive: isAlive(bankql),
    residentMegabytes: most,
  };
}

/** How much worse one is than another: the end of the process, then refusals, then waiting. */
const badness = ({ isAlive, refused, p99 }: Felt) => (isAlive ? 0 : 1e9) + refused * 1e5 + p99;

const describe = ({ groups, p99, refused, codes, asked, isAlive, residentMegabytes }: Felt) =>
  `  p99 ${p99.toFixed(0).padStart(6)} ms, ${refused} of ${asked} refused${refused > 0 ? ` (${[...codes].join(', ')})` : ''}, ${residentMegabytes.toFixed(0)} MB${isAlive ? '' : ', DEAD'}: ` +
  groups.map(({ behaviour, logins, connections }) => `${logins} × ${connections} ${behaviour}`).join(' + ');

export interface CallersOptions {
  /** How long is searched with each heap, in seconds. */
  readonly seconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * Callers who keep within every limit, each looking for what hurts others most: first each behaviour by itself, then random
 * changes of the worst so far (more logins, more connections, two behaviours together). Prints the five worst for each heap;
 * answers what fails.
 */
export async function searchCallers({ seconds, seed, say }: CallersOptions): Promise<readonly string[]> {
  const random = createRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const names = Object.keys(behaviours) as Behaviour[];
  const failures: string[] = [];
  for (const heap of heaps) {
    await using bank = await startBank();
    const start = async () => {
      const started = await startProcess({
        BANK_BASE_URL: bank.url,
        BANK_ID: 'BANK',
        STATE_URL: 'memory:',
        LOG_LEVEL: 'fatal',
        MAX_EVENT_LOOP_LAG_MS: '500',
        NODE_OPTIONS: `--max-old-space-size=${heap}`,
      });
      pinApart(started.child.pid ?? 0, process.pid);
      return started;
    };
    let bankql = await start();
    await feel(bankql, []);
    const alone = await feel(bankql, []);
    const found: Felt[] = [];
    const next = (): readonly Group[] => {
      const untried = names[found.length];
      if (untried !== undefined) return [{ behaviour: untried, logins: 1, connections: 50 }];
      const { groups } = pick(found.slice(0, 5));
      const more: Group = {
        behaviour: pick(names),
        logins: pick([1, 10, 100]),
        connections: pick([1, 10, 100]),
      };
      if (random() < 0.4) return [...groups, more].slice(-2);
      return groups.map((group) => ({ ...group, logins: more.logins, connections: more.connections }));
    };
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until || found.length < names.length) {
      progress(`callers within the limits, ${heap} MB: trial ${found.length + 1}`);
      const felt = await feel(bankql, next());
      found.push(felt);
      found.sort((one, other) => badness(other) - badness(one));
      if (!isAlive(bankql)) bankql = await start();
    }
    await bankql.stop('SIGKILL');
    say(
      `callers within the limits, heap ${heap} MB; alone p99 ${alone.p99.toFixed(1)} ms; the five worst of ${found.length}:`,
    );
    for (const felt of found.slice(0, 5)) say(describe(felt));
    const longest = Math.max(mostTimes * alone.p99, unfeltMs);
    for (const felt of found) {
      const wrong = [
        felt.isAlive ? null : 'the process died',
        felt.refused > 0 ? `${felt.refused} refused` : null,
        felt.p99 > longest ? `p99 ${felt.p99.toFixed(0)} ms` : null,
        felt.residentMegabytes > heap + besideHeap ? `${felt.residentMegabytes.toFixed(0)} MB` : null,
      ].filter((each) => each !== null);
      if (wrong.length > 0) failures.push(`heap ${heap} MB, ${wrong.join(', ')}:${describe(felt)}`);
    }
  }
  return failures;
}
