import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { credentials } from '../support/bankql.ts';
import { withLimits } from '../support/limits.ts';
import { accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';
import { saysNothingWasSent } from '../support/payment-invariants.ts';
import type { State, StateKind } from '../support/payment-states.ts';
import { type BankqlProcess, post, runProcess, startProcess } from '../support/process.ts';

/** What a drill works with: a bank, a store, and processes of bankql over them. */
export interface DrillContext {
  readonly bank: PaymentBank;
  readonly state: State;
  readonly ways: StateKind['ways'];
  /** A folder of the drill's own. */
  readonly folder: string;
  start(environment?: Readonly<Record<string, string>>): Promise<BankqlProcess>;
  /** Starts one that is expected to end by itself. */
  serve(): Promise<{ readonly code: number | string | null; readonly output: string }>;
  /** `bankql payments …` over the same store. */
  operate(...args: string[]): Promise<{ readonly code: number | string | null; readonly output: string }>;
  /** Notes a violation where it does not hold. */
  must(holds: boolean, violation: string): void;
}

/** Something that happens to a store in one certain way, and what must not come of it. */
export interface Drill {
  readonly name: string;
  /** Whether it can be done with this store; all where it is left out. */
  readonly isFor?: (state: State) => boolean;
  run(context: DrillContext): Promise<void>;
}

const keys = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}-${n}`);
const day = 86_400_000;
const decision = ['--by', 'the drill', '--reason', 'a drill', '--yes'];

/** Pays each of them, a few at a time. Shape: what was told, in their order. */
async function payAll({ url }: BankqlProcess, all: readonly string[]): Promise<Told[]> {
  const told: Told[] = [];
  for (let n = 0; n < all.length; n += 8)
    told.push(...(await Promise.all(all.slice(n, n + 8).map((key) => pay(url, transfer(key))))));
  return told;
}

/** The same, each until the store takes it and tells its end: it may just be coming back, or the machine is busy. */
async function payPatiently(bankql: BankqlProcess, all: readonly string[]): Promise<Told[]> {
  const told: Told[] = [];
  for (const key of all) {
    let answer = await pay(bankql.url, transfer(key));
    for (const end = Date.now() + 30_000; isNotYet(answer) && Date.now() < end; ) {
      await delay(100);
      answer = await pay(bankql.url, transfer(key));
    }
    told.push(answer);
  }
  return told;
}

/** What the documentation says to ask again for: a beginning that was refused may have to be taken back first. */
const isNotYet = ({ code }: Told) => code === 'STATE_UNAVAILABLE' || code === 'IDEMPOTENCY_IN_PROGRESS';

const question = (key: string) => `{ payment(idempotencyKey: "${key}") { state } }`;

const awayAtTheRetry: Drill = {
  name: 'store away at the retry',
  async run({ bank, state, ways, start, must }) {
    const bankql = await start();
    for (const way of ways) {
      const [executed, unsent] = keys(way.replaceAll(' ', '-'), 2);
      if (executed === undefined || unsent === undefined) continue;
      must((await payPatiently(bankql, [executed]))[0]?.code === 'DONE', `${way}: it was not paid`);
      const giveBack = await state.takeAway(way);
      const told = await payAll(bankql, [executed, unsent]);
      const asked = JSON.stringify(await post(bankql.url, question(executed), credentials));
      for (const { code, message, idempotencyKey, retryAfter } of told) {
        if (code === 'DONE') continue;
        must(code === 'STATE_UNAVAILABLE', `${way}: told ${code}`);
        must(!saysNothingWasSent(message), `${way}: "${message}"`);
        must(
          /earlier .*may have/i.test(message ?? ''),
          `${way}: "${message}" does not say that it may have been sent`,
        );
        must(idempotencyKey !== null && retryAfter !== null, `${way}: told without key or time`);
      }
      must(/"state":"DONE"|unknown/i.test(asked), `${way}: payment(…) said ${asked}`);
      must(bank.of(unsent).length === 0 || told[1]?.code === 'DONE', `${way}: a refused payment was sent`);
      await giveBack();
      const last = await payPatiently(bankql, [executed, unsent]);
      for (const [n, key] of [executed, unsent].entries())
        must(
          bank.of(key).length === 1,
          `${way}: ${key} was sent ${bank.of(key).length} times, and told ${last[n]?.code}`,
        );
    }
  },
};

/** The log of bankql so far, as a file. */
async function saveLog({ output }: BankqlProcess, folder: string): Promise<string> {
  const file = join(folder, 'bankql.log');
  await writeFile(file, output());
  return file;
}

const restoredBackup: Drill = {
  name: 'restored backup',
  isFor: ({ url }) => url.startsWith('sqlite:'),
  async run({ bank, state, folder, start, operate, must }) {
    const bankql = await start({ LOG_LEVEL: 'info' });
    const file = join(folder, 'backup.db');
    const [before, during, after] = [keys('before', 40), keys('during', 40), keys('after', 20)];
    await payPatiently(bankql, before);
    const underLoad = payAll(bankql, during);
    const saved = await operate('backup', file);
    must(saved.code === 0, `backup: ${saved.output}`);
    await underLoad;
    await payPatiently(bankql, after);
    await bankql.stop();
    await state.lose();
    await copyFile(file, state.url.replace('sqlite:', ''));
    const log = await saveLog(bankql, folder);
    const recovered = await operate('accept-loss', '--from-log', log, ...decision);
    must(recovered.code === 0, `accept-loss: ${recovered.output}`);
    const again = await start();
    await payAll(again, [...before, ...during, ...after]);
    for (const key of [...before, ...during, ...after])
      must(bank.of(key).length === 1, `${key} was sent ${bank.of(key).length} times`);
  },
};

const clockAhead: Drill = {
  name: 'a clock 31 days ahead',
  async run({ bank, start, must }) {
    const right = await start();
    const [finished, others] = [keys('finished', 20), keys('others', 10)];
    await payPatiently(right, finished);
    const wrong = await start({
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, '../support/clock-ahead.ts'))}`,
      CLOCK_AHEAD_MS: String(31 * day),
    });
    // It may refuse payments, but must neither forget anybody's nor end what is under way.
    await payAll(wrong, [...others, ...finished]);
    await delay(2000);
    await payAll(wrong, others);
    for (const bankql of [right, wrong]) await payAll(bankql, [...finished, ...others]);
    for (const key of [...finished, ...others])
      must(bank.of(key).length <= 1, `${key} was sent ${bank.of(key).length} times`);
    for (const told of await payPatiently(right, finished))
      must(told.code === 'DONE' && told.replayed, `a finished payment became ${told.code}`);
    must(
      (await payPatiently(right, ['new']))[0]?.code === 'DONE',
      'the process with the right clock takes no payments',
    );
  },
};

const lostRecords: Drill = {
  name: 'a lost store, made again',
  async run({ bank, state, folder, start, serve, operate, must }) {
    const first = await start({ LOG_LEVEL: 'info' });
    const paid = keys('paid', 20);
    await payPatiently(first, paid);
    await first.stop();
    const log = await saveLog(first, folder);
    await state.lose();
    const refused = await serve();
    must(refused.code !== 0, 'it starts without its store');
    must(
      /There is no payment store at .*payments init/.test(refused.output),
      `the start says: ${refused.output}`,
    );
    await operate('init');
    const recovered = await operate('accept-loss', '--from-log', log, ...decision);
    must(recovered.code === 0, `accept-loss: ${recovered.output}`);
    const second = await start();
    for (const { code, message } of await payAll(second, paid))
      must(code === 'OUTCOME_UNKNOWN', `a payment of the log: ${code} ${message}`);
    for (const { code, message } of await payPatiently(second, ['new']))
      must(code === 'DONE', `a new payment: ${code} ${message}`);
    for (const key of [...paid, 'new'])
      must(bank.of(key).length === 1, `${key} was sent ${bank.of(key).length} times`);
  },
};

export const drills: readonly Drill[] = [awayAtTheRetry, restoredBackup, clockAhead, lostRecords];

/** Does a drill over a fresh store. Shape: what was violated; null where the drill is not for this kind of store. */
export async function runDrill(drill: Drill, { start, ways }: StateKind): Promise<string[] | null> {
  await using made = new AsyncDisposableStack();
  const state = made.use(await start());
  if (drill.isFor?.(state) === false) return null;
  const bank = made.use(await startPaymentBank());
  bank.decide = accept;
  const folder = await mkdtemp(join(tmpdir(), 'bankql-drill-'));
  made.defer(() => rm(folder, { recursive: true }));
  const violations: string[] = [];
  const environment = {
    BANK_BASE_URL: bank.url,
    STATE_URL: state.url,
    LOG_LEVEL: 'error',
    ...withLimits({ breakerShare: 0 }),
  };
  await runProcess(environment, ['payments', 'init']);
  await drill.run({
    bank,
    state,
    ways,
    folder,
    start: async (more = {}) => made.use(await startProcess({ ...environment, ...more })),
    serve: () => runProcess(environment),
    operate: (...args) => runProcess(environment, ['payments', ...args]),
    must: (holds, violation) => void (holds || violations.push(violation)),
  });
  return violations;
}
