import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BankqlProcess, startProcess } from '../support/process.ts';
import { pinApart } from './cores.ts';
import { createSender } from './hostile-requests.ts';
import { progress } from './progress.ts';

/** The work that a caller within the limits repeats on each of its connections. */
export const behaviours = {
  'large answers':
    '{bank{branches(first:11){nodes{bank{branches{nodes{id branchId name address{city line1}}}}}}}}',
  'searches by distance':
    '{bank{branches{nodes{bank{branches(near:{latitude:1,longitude:2},first:0){totalCount}}}}}}',
  'searches by text': `{bank{${Array.from({ length: 29 }, (_, n) => `b${n}:branches(search:"C${n}"){totalCount}`).join(' ')}}}`,
  'twenty REST calls': `{bank{${Array.from({ length: 20 }, (_, n) => `c${n}:customer(customerId:"RANDOM-${n}"){email}`).join(' ')}}}`,
  'lists that it only counts': `{bank{${Array.from({ length: 20 }, (_, n) => `c${n}:account(accountId:"RANDOM-${n}"){otherAccounts(first:0){totalCount}}`).join(' ')}}}`,
  "updates of somebody else's record":
    'mutation{updateCustomer(input:{customerId:"good-0",changes:{email:"e"}}){trackId}}',
  'lists of payments': `{${Array.from({ length: 20 }, (_, n) => `p${n}:payments(first:${100 - n}){nodes{id}}`).join(' ')}}`,
  'failing fields': `{bank{${Array.from({ length: 29 }, (_, n) => `b${n}:branches{nodes{bank{branches(first:-1){totalCount}}}}`).join(' ')}}}`,
  'bodies that stop': '{bank{branches{totalCount}}}',
  'answers that nobody reads': '{bank{branches{nodes{id name address{city line1}}}}}',
} as const;
export type Behaviour = keyof typeof behaviours;

/** A group of callers that all behave in the same way. */
export interface Group {
  readonly behaviour: Behaviour;
  readonly logins: number;
  /** The number of concurrent requests of each login. */
  readonly connections: number;
}

/** The effect of an attack on good callers. */
interface Felt {
  readonly groups: readonly Group[];
  readonly p99: number;
  readonly refused: number;
  /** The duration of refusals, in milliseconds (p99). */
  readonly refusalP99: number;
  /** The reasons of the refusals. */
  readonly reasons: ReadonlySet<string>;
  readonly asked: number;
  /** The delay with which the good caller itself sent its requests, in milliseconds (p99). It does not count. */
  readonly ownLateness: number;
  /** The number of an attacker's answers with each status. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly isAlive: boolean;
  readonly residentMegabytes: number;
}

/** The heap of a small container, in megabytes. */
const smallHeap = 256;
/**
 * With one greedy caller, the maximum of the good caller's 99th percentile, as a multiple of its value alone, and the value that
 * is always permitted, in milliseconds.
 */
const mostTimes = 5;
const unfeltMs = 300;
/** With many greedy callers, the maximum duration of a refusal, in milliseconds (p99). */
const longestRefusalMs = 100;
/** The memory that the process may use in addition to its heap, in megabytes. */
const besideHeap = 150;
/** The maximum time in which attackers open their connections, in milliseconds. */
const longestStartMs = 5000;
const trialMs = 5000;
/** The time for which a good caller waits for an answer, in milliseconds. After it, the request counts as refused. */
const mostPatienceMs = 10_000;
/** The number of good callers, and the number of requests of each in a second. */
const goodCallers = 8;
const perSecond = 5;
const goodConnections = 4;

/** A bank of 1,000 branches that answers at once, and refuses made-up keys. */
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
  // No two of these lists are equal: the account's id is in the first record.
  const otherAccounts = Buffer.from(
    Array.from(
      { length: 2000 },
      (_, n) =>
        `,{"id":"o${n}","bank":"Bank ${n}","holder":{"name":"Holder of the account ${n}","is_alias":false},"IBAN":"DE${n}","number":"${n}","swift_bic":"BANKDEFF","kind":"shop"}`,
    ).join(''),
  );
  const server = createServer(({ url = '', headers }, response) => {
    const status = headers['ocp-apim-subscription-key'] === 'made-up' ? 401 : 200;
    const account = /accounts\/([^/]+)\/[^/]+\/other_accounts$/.exec(url)?.[1];
    const body = url.endsWith('/branches') ? branches : '{"email":"somebody@bank.example"}';
    response.writeHead(status, { 'Content-Type': 'application/json' });
    if (account === undefined) response.end(status === 200 ? body : '{}');
    else {
      response.write(`{"otherAccounts":[{"id":"${account}","bank":"","holder":{"is_alias":false}}`);
      response.write(otherAccounts);
      response.end(']}');
    }
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

const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(0.99 * (times.length - 1))] ?? Number.NaN;

const isAlive = ({ child }: BankqlProcess) => child.exitCode === null && child.signalCode === null;

/**
 * Of eleven requests of a good caller, those that do not read a single record: one reads a list of 1,000, and
 * one updates the caller's own record.
 */
const goodQueries: Readonly<Record<number, (customerId: string) => string>> = {
  5: () => '{ bank { branches { nodes { id name address { city line1 } } } } }',
  10: (customerId) =>
    `mutation { updateCustomer(input: { customerId: "${customerId}", changes: { email: "good" } }) { trackId } }`,
};

/** Measures the effect of these groups on good callers. */
async function feel(bankql: BankqlProcess, groups: readonly Group[]): Promise<Felt> {
  const good = Array.from({ length: goodCallers }, (_, n) => ({
    ...createSender(bankql.url, `good-${n}`),
    customerId: `good-${n}`,
  }));
  // The good callers connect before the attack, because Node accepts one connection in each iteration of the
  // event loop, in order.
  await Promise.all(
    good.flatMap(({ send }) =>
      Array.from({ length: goodConnections }, () => send({ body: '{"query":"{ __typename }"}' })),
    ),
  );
  const attackers = fork(join(import.meta.dirname, 'hostile-caller-process.ts'), [
    JSON.stringify([`${bankql.url}/graphql`, groups]),
  ]);
  const waits: Promise<number>[] = [];
  const lateness: number[] = [];
  const refusals: number[] = [];
  let refused = 0;
  /** The time until which a refused good caller waits, according to Retry-After. */
  const waitsUntil = new Map<string, number>();
  let sent = 0;
  const reasons = new Set<string>();
  let most = 0;
  // If not all attackers can begin, because the server has no time for them, that is part of the attack.
  if (groups.length > 0) await Promise.race([once(attackers, 'message'), delay(longestStartMs)]);
  await delay(1000);
  const beginning = performance.now();
  while (performance.now() - beginning < trialMs) {
    const due = beginning + (sent * 1000) / (goodCallers * perSecond);
    await delay(Math.max(0, due - performance.now()));
    most = Math.max(most, residentMegabytes(bankql.child.pid));
    const nth = sent++;
    const { send, customerId } = good[nth % goodCallers] as (typeof good)[number];
    if (performance.now() < (waitsUntil.get(customerId) ?? 0)) continue;
    lateness.push(performance.now() - due);
    const query =
      goodQueries[nth % 11]?.(customerId) ?? `{ bank { customer(customerId: "c${nth}") { email } } }`;
    waits.push(
      Promise.race([
        send({ body: JSON.stringify({ query }) }),
        delay(mostPatienceMs).then(() => ({ status: 0, text: '', milliseconds: mostPatienceMs })),
      ]).then(({ status, text, milliseconds }) => {
        if (!text.startsWith('{"data"') || text.includes('"errors"')) {
          refused++;
          // Other failures occur after a request was admitted.
          if (status === 503) refusals.push(milliseconds);
          waitsUntil.set(customerId, performance.now() + 1000);
          reasons.add(/"message":"([^."]*)/.exec(text)?.[1] ?? 'no answer');
        }
        return milliseconds;
      }),
    );
  }
  const times = await Promise.all(waits);
  attackers.send('end');
  let [statuses] = await once(attackers, 'message');
  if (statuses === 'begun') [statuses] = await once(attackers, 'message');
  await Promise.all(good.map(({ close }) => close()));
  return {
    groups,
    p99: p99(times),
    ownLateness: p99(lateness),
    statuses,
    refused,
    refusalP99: refusals.length === 0 ? 0 : p99(refusals),
    reasons,
    asked: times.length,
    isAlive: isAlive(bankql),
    residentMegabytes: most,
  };
}

const describe = ({
  groups,
  p99,
  refused,
  refusalP99,
  reasons,
  asked,
  ownLateness,
  statuses,
  isAlive,
  residentMegabytes,
}: Felt) =>
  `  p99 ${p99.toFixed(0).padStart(6)} ms (sent late by ${ownLateness.toFixed(0)}), ${refused} of ${asked} refused${refused > 0 ? ` in ${refusalP99.toFixed(0)} ms (${[...reasons].join(', ')})` : ''}, ${residentMegabytes.toFixed(0)} MB${isAlive ? '' : ', DEAD'}: ` +
  groups.map(({ behaviour, logins, connections }) => `${logins} × ${connections} ${behaviour}`).join(' + ') +
  ` (answered ${JSON.stringify(statuses)})`;

/**
 * Tests verified callers that stay within every limit. With one greedy caller, no good caller is refused, and good callers wait
 * little longer than alone. With a hundred, the process survives, and refusals come at once. Prints the effect on the good
 * callers; returns the failures.
 */
export async function tryCallers(say: (line: string) => void): Promise<readonly string[]> {
  const all = (Object.keys(behaviours) as Behaviour[]).flatMap((behaviour): Group[][] => [
    [{ behaviour, logins: 1, connections: 50 }],
    [{ behaviour, logins: 100, connections: 10 }],
  ]);
  await using bank = await startBank();
  const start = async () => {
    const started = await startProcess({
      BANK_BASE_URL: bank.url,
      BANK_ID: 'BANK',
      STATE_URL: 'memory:',
      IDENTITY: 'headers',
      LOG_LEVEL: 'fatal',
      NODE_OPTIONS: `--max-old-space-size=${smallHeap} --max-semi-space-size=16`,
    });
    pinApart(started.child.pid ?? 0, process.pid);
    return started;
  };
  let bankql = await start();
  await feel(bankql, []);
  const alone = await feel(bankql, []);
  const longest = Math.max(mostTimes * alone.p99, unfeltMs);
  say(`callers within the limits, heap ${smallHeap} MB; alone p99 ${alone.p99.toFixed(1)} ms`);
  const failures: string[] = [];
  for (const [trial, groups] of all.entries()) {
    progress(`callers within the limits, ${smallHeap} MB: trial ${trial + 1} of ${all.length}`);
    const felt = await feel(bankql, groups);
    say(describe(felt));
    const isOne = groups.every(({ logins }) => logins === 1);
    const wrong = [
      felt.isAlive ? null : 'the process died',
      felt.residentMegabytes > smallHeap + besideHeap ? `${felt.residentMegabytes.toFixed(0)} MB` : null,
      isOne && felt.refused > 0 ? `${felt.refused} refused` : null,
      isOne && felt.p99 > longest ? `p99 ${felt.p99.toFixed(0)} ms` : null,
      !isOne && felt.refusalP99 > longestRefusalMs ? `refused in ${felt.refusalP99.toFixed(0)} ms` : null,
    ].filter((each) => each !== null);
    if (wrong.length > 0) failures.push(`heap ${smallHeap} MB, ${wrong.join(', ')}:${describe(felt)}`);
    if (!isAlive(bankql)) bankql = await start();
  }
  await bankql.stop('SIGKILL');
  return failures;
}
