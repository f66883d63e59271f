import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import { alice } from '../../src/app/announcements.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';
import { meterOptions, readMeter } from './accepted-meter.ts';
import { bodyOf, type Candidate, createGenerator, createRandom } from './accepted-requests.ts';

/** The number of equal requests that are sent at the same time. */
const together = 8;

/** Sends a request, and reads its answer to the end. */
type Send = () => Promise<{ readonly status: number }>;

interface TogetherOptions {
  /** The most expensive requests, and their texts for output. */
  readonly worst: readonly { readonly text: string; readonly send: Send }[];
  /** The read of the good caller. */
  readonly read: Send;
  readonly say: (line: string) => void;
}

/**
 * Sends each of the most expensive requests several at a time, and prints how long a good caller's reads wait in the meantime.
 */
async function sendTogether({ worst, read, say }: TogetherOptions): Promise<void> {
  say(`the worst ${worst.length}, ${together} at a time, and a good caller beside them`);
  say("  took ms   statuses      reads  read's worst ms  not answered");
  for (const { text, send } of worst) {
    const started = performance.now();
    let isOver = false;
    const attack = Promise.all(
      Array.from({ length: together }, () =>
        send().then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    ).finally(() => {
      isOver = true;
    });
    const reads: Promise<{ readonly status: number; readonly waited: number }>[] = [];
    // A read is sent every few milliseconds, whether or not earlier ones were answered, so that a slow read
    // does not delay the next.
    do {
      const asked = performance.now();
      reads.push(
        read()
          .catch(() => ({ status: 0 }))
          .then(({ status }) => ({ status, waited: performance.now() - asked })),
      );
      await delay(20);
    } while (!isOver);
    const statuses = [...new Set(await attack)].join(',');
    const took = performance.now() - started;
    const felt = await Promise.all(reads);
    const longest = Math.max(...felt.map(({ waited }) => waited));
    const refused = felt.filter(({ status }) => status !== 200).length;
    say(
      `${took.toFixed(1).padStart(9)} ${statuses.padStart(10)} ${String(felt.length).padStart(10)} ` +
        `${longest.toFixed(1).padStart(16)} ${String(refused).padStart(13)}`,
    );
    say(`          ${text.slice(0, 200)}`);
  }
}

/** The cost of an accepted request for the server. */
interface Cost {
  readonly cpuMs: number;
  readonly blockMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly errors: number;
}

interface Found {
  readonly candidate: Candidate;
  readonly caller: Caller;
  readonly cost: Cost;
}

const callers = { alice, nobody: {} } as const;
type Caller = keyof typeof callers;

/** The kinds of cost. The search looks for each in turn. */
const measures: readonly ((cost: Cost) => number)[] = [
  ({ cpuMs }) => cpuMs,
  ({ cpuMs, bytesIn }) => cpuMs / bytesIn,
  ({ bytesOut, bytesIn }) => bytesOut / bytesIn,
  ({ errors, bytesIn }) => errors / bytesIn,
];
/** The number of the most expensive requests of each kind that are kept for further changes. */
const kept = 12;
const longestAnswerMs = 30_000;

const isDearer = (measure: (cost: Cost) => number, cost: Cost, than: readonly Found[]): boolean => {
  const last = than.at(-1);
  return last === undefined || than.length < kept || measure(cost) > measure(last.cost);
};

interface SearchOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * The permitted processor time of an accepted request as a multiple of that of `{ __typename }`, and the time that is always
 * permitted.
 */
const mostTimes = 250;
const cheapMs = 100;

/**
 * Searches for the most expensive accepted requests, with a process of bankql and a sandbox bank in another process: it tries
 * random operations, and random changes of the most expensive ones so far. Prints the ten worst; returns the failures.
 */
export async function searchAccepted({ seconds, seed, say }: SearchOptions): Promise<readonly string[]> {
  await using sandbox = await startProcess({}, ['sandbox']);
  const start = () =>
    startProcess({
      NODE_OPTIONS: meterOptions,
      BANK_BASE_URL: sandbox.url,
      BANK_ID: 'SNDBCY2N',
      STATE_URL: 'memory:',
      LOG_LEVEL: 'fatal',
    });
  let bankql: BankqlProcess = await start();
  const agent = new Agent({ bodyTimeout: longestAnswerMs, headersTimeout: longestAnswerMs });
  const failures: string[] = [];
  const generator = createGenerator(createRandom(seed));
  let nonce = 0;

  const post = async (body: string, caller: Caller) => {
    const response = await agent.request({
      origin: bankql.url,
      path: '/graphql',
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'multipart/mixed, application/json',
        ...callers[caller],
      },
      body,
    });
    const text = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, text };
  };

  /** The cost of a candidate; null if it is refused before it runs. */
  async function costOf(candidate: Candidate, caller: Caller): Promise<Cost | null> {
    const body = bodyOf(candidate, nonce++);
    const before = await readMeter(bankql);
    const answer = await post(body, caller).catch((error: unknown) => String(error));
    if (typeof answer === 'string') {
      failures.push(`no answer (${answer}) to ${body.length} bytes of ${caller}: ${body.slice(0, 300)}`);
      await bankql[Symbol.asyncDispose]();
      bankql = await start();
      return null;
    }
    const after = await readMeter(bankql);
    const isAccepted = answer.status === 200 && answer.text.subarray(0, 100).includes('{"data"');
    if (!isAccepted && answer.status < 500) return null;
    if (answer.status >= 500) failures.push(`${answer.status}: ${body.slice(0, 300)}`);
    return {
      cpuMs: after.cpuMs - before.cpuMs,
      blockMs: after.longestBlockMs,
      bytesIn: Buffer.byteLength(body),
      bytesOut: answer.text.length,
      errors:
        answer.text.length < 64_000_000 ? answer.text.toString('latin1').split('"code":').length - 1 : 0,
    };
  }

  const least = async () => {
    const count = 2000;
    for (let round = 0; round < count; round++) await post('{"query":"{ __typename }"}', 'alice');
    const before = await readMeter(bankql);
    for (let round = 0; round < count; round++) await post('{"query":"{ __typename }"}', 'alice');
    return ((await readMeter(bankql)).cpuMs - before.cpuMs) / count;
  };

  const typenameMs = await least();
  const beginnings = generator.beginnings();
  const dearest: Found[][] = measures.map(() => []);
  let tried = 0;
  let accepted = 0;
  for (const until = performance.now() + seconds * 1000; performance.now() < until; tried++) {
    const best = dearest[tried % measures.length] ?? [];
    const [one, other = one] = [best[tried % kept], best[(tried * 7 + 3) % kept]];
    const isFresh = one === undefined || other === undefined || tried % 5 === 0;
    const candidate =
      beginnings[tried] ?? (isFresh ? generator.fresh() : generator.mutate(one.candidate, other.candidate));
    const caller: Caller = tried % 3 === 0 ? 'nobody' : 'alice';
    let cost = await costOf(candidate, caller);
    if (cost === null) continue;
    accepted++;
    for (const [index, measure] of measures.entries()) {
      const list = dearest[index] ?? [];
      if (!isDearer(measure, cost, list)) continue;
      // The cost is measured again, because another request may have caused a garbage collection.
      const again = await costOf(candidate, caller);
      if (again !== null && again.cpuMs < cost.cpuMs) cost = again;
      dearest[index] = [...list, { candidate, caller, cost }]
        .toSorted((a, b) => measure(b.cost) - measure(a.cost))
        .slice(0, kept);
    }
  }

  say(
    `${tried} requests were tried and ${accepted} accepted, seed ${seed}; { __typename } takes ${typenameMs.toFixed(3)} ms of the processor`,
  );
  say('accepted, the ten worst');
  say('   cpu ms    times   block ms  bytes in  bytes out  out/in  errors  caller');
  const candidates = [...new Map(dearest.flat().map((found) => [found.candidate, found])).values()]
    .toSorted((a, b) => b.cost.cpuMs - a.cost.cpuMs)
    .slice(0, 20);
  const worst: Found[] = [];
  for (const { candidate, caller } of candidates) {
    const costs: Cost[] = [];
    for (let round = 0; round < 5; round++) {
      const cost = await costOf(candidate, caller);
      if (cost !== null) costs.push(cost);
    }
    const cost = costs.toSorted((a, b) => a.cpuMs - b.cpuMs)[Math.floor(costs.length / 2)];
    if (cost !== undefined) worst.push({ candidate, caller, cost });
  }
  worst.sort((a, b) => b.cost.cpuMs - a.cost.cpuMs);
  for (const { candidate, caller, cost } of worst.slice(0, 10)) {
    const { cpuMs, blockMs, bytesIn, bytesOut, errors } = cost;
    const times = cpuMs / typenameMs;
    say(
      `${cpuMs.toFixed(1).padStart(9)} ${times.toFixed(0).padStart(8)} ${blockMs.toFixed(1).padStart(10)} ` +
        `${String(bytesIn).padStart(9)} ${String(bytesOut).padStart(10)} ` +
        `${(bytesOut / bytesIn).toFixed(1).padStart(7)} ${String(errors).padStart(7)}  ${caller}`,
    );
    say(`          ${bodyOf(candidate, 0).slice(0, 200)}`);
    if (times > mostTimes && cpuMs > cheapMs)
      failures.push(
        `an accepted request takes ${cpuMs.toFixed(1)} ms, ${times.toFixed(0)} times { __typename }`,
      );
  }
  await sendTogether({
    worst: worst.slice(0, 3).map(({ candidate, caller }) => ({
      text: bodyOf(candidate, 0),
      send: () => post(bodyOf(candidate, nonce++), caller),
    })),
    read: () => post('{"query":"{ bank { account(accountId: \\"alice-current\\") { label } } }"}', 'alice'),
    say,
  });
  await bankql[Symbol.asyncDispose]();
  await agent.destroy();
  return failures;
}
