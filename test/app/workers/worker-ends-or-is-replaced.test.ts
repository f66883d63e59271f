import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startBankql } from '../../../src/index.ts';
import { initStore } from '../../../src/payments/store/open-store.ts';
import { credentials } from '../../support/bankql.ts';
import { logLines } from '../../support/log-lines.ts';
import { freePort, listenOnLoopback } from '../../support/loopback.ts';
import { accept, hold, type PaymentBank, startPaymentBank } from '../../support/payment-bank.ts';
import { pay, payToTheEnd, transfer } from '../../support/payment-client.ts';
import {
  type BankqlProcess,
  launch,
  post,
  runProcess,
  startProcess,
  storeTimeoutVariable,
} from '../../support/process.ts';
import { connectTo } from '../../support/requests.ts';
import { testFolder } from '../../support/test-folder.ts';
import { turns, until } from '../../support/waits.ts';

/** The process ids of a primary's workers. */
const workersOf = ({ child }: Pick<BankqlProcess, 'child'>): number[] =>
  spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line !== '')
    .map(Number);

/**
 * Opens connections without sending anything; the primary passes each of them to a worker.
 * Shape: a function that stops opening connections.
 */
function keepConnecting(url: string): () => Promise<void> {
  let isOver = false;
  const connectors = Array.from({ length: 2 }, async () => {
    while (!isOver)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.destroy());
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
  });
  return async () => {
    isOver = true;
    await Promise.all(connectors);
  };
}

/** `WORKERS=2`: a primary and its workers, as processes. */

const folder = testFolder();
const stores = { next: 0 };
let bank: PaymentBank;
beforeAll(async () => {
  bank = await startPaymentBank();
});
afterEach(() => {
  bank.decide = accept;
});
afterAll(() => bank[Symbol.asyncDispose]());

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  BANK_BASE_URL: bank.url,
  BANK_ID: 'BANK',
  STATE_URL: `sqlite:${join(folder, `${stores.next++}.db`)}`,
  WORKERS: '2',
  METRICS_PORT: '0',
  // Payments are in progress while processes start, which takes long on a busy machine.
  BANK_TRANSFER_TIMEOUT_MS: '100000',
  ...more,
});

const withMessage = ({ output }: Pick<BankqlProcess, 'output'>, words: string) => logLines(output(), words);

async function metricsOf(bankql: BankqlProcess): Promise<Record<string, number>> {
  const [start] = withMessage(bankql, 'bankql serves');
  // `close` is sent, because otherwise the server could close the kept connection just when a slow machine
  // uses it again.
  const response = await fetch(String(start?.metrics), { headers: { Connection: 'close' } });
  const text = await response.text();
  return Object.fromEntries(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  );
}

/** Waits until this number of workers serve. It scrapes rarely, because each scrape is work for every worker. */
const serving = (bankql: BankqlProcess, workers: number) =>
  expect
    .poll(async () => (await metricsOf(bankql))['bankql_workers{state="running"}'], { interval: 250 })
    .toBe(workers);

const ask = (bankql: BankqlProcess) => post(bankql.url, '{ __typename }', credentials);
const answer = { data: { __typename: 'Query' } };

/**
 * Fails if a payment is answered before it has arrived at the bank, which holds it back. Otherwise, a test would wait for ever.
 */
const neverSent = (told: unknown) => expect.unreachable(`never arrived at the bank: ${JSON.stringify(told)}`);

/** Sends a payment, and waits until it is at the bank, which holds it back until `answer` is called. */
async function payHeld({ url }: { readonly url: string }, key: string, send = pay) {
  const { arrived, answer } = hold(bank);
  const paid = send(url, transfer(key));
  // A test may end the worker that would answer.
  paid.catch(() => {});
  await Promise.race([arrived, paid.then(neverSent)]);
  return { paid, answer };
}

/**
 * Sends requests repeatedly, over kept and new connections, until it is stopped. Returns the failures, and the number of
 * successes.
 */
function keepAsking(url: string) {
  const agents = [new Agent({ keepAlive: true, maxSockets: 4 }), new Agent({ keepAlive: false })];
  const failures: string[] = [];
  let good = 0;
  let isOver = false;
  const askOnce = (agent: Agent) =>
    new Promise<void>((resolve) => {
      const fail = (why: string) => {
        failures.push(why);
        resolve();
      };
      const asked = request(`${url}/graphql`, { agent, method: 'POST' }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        // `close` comes before `end` if the connection is cut.
        response.on('close', () => response.complete || fail('the answer was cut off'));
        response.on('end', () => {
          if (text !== JSON.stringify(answer)) return fail(`${response.statusCode} ${text}`);
          good++;
          resolve();
        });
      });
      for (const [name, value] of Object.entries(credentials)) asked.setHeader(name, value);
      asked.setHeader('Content-Type', 'application/json');
      asked.on('error', (error) => fail(error.message));
      asked.end('{"query":"{ __typename }"}');
    });
  const asking = agents.map(async (agent) => {
    while (!isOver) {
      await askOnce(agent);
      await turns();
    }
    agent.destroy();
  });
  return {
    failures,
    good: () => good,
    async stop() {
      isOver = true;
      await Promise.all(asking);
    },
  };
}

/** Opens this number of connections, which send nothing, and waits until all are open. */
async function connectTimes({ url }: BankqlProcess, times: number): Promise<Socket[]> {
  const connections = Array.from({ length: times }, () => connectTo(url));
  await Promise.all(connections.map((connection) => once(connection, 'connect')));
  return connections;
}

describe('two workers over one store', () => {
  let bankql: BankqlProcess;
  beforeAll(async () => {
    const manifest = join(folder, 'reloaded.json');
    writeFileSync(manifest, JSON.stringify({ first: '{ __typename }' }));
    bankql = await startProcess(environment({ PERSISTED_DOCUMENTS: manifest }));
  });
  afterAll(() => bankql[Symbol.asyncDispose]());

  test('are one start in the log, know each other’s payments, and have their metrics in common', async () => {
    expect(withMessage(bankql, 'bankql serves')).toMatchObject([
      { pid: bankql.child.pid, msg: expect.stringContaining('2 workers share the port.') },
    ]);
    const workers = workersOf(bankql);
    expect(workers).toHaveLength(2);
    const paid = await pay(bankql.url, transfer('once'));
    expect(paid).toMatchObject({ code: 'DONE', replayed: false });
    // Each new connection goes to the next worker.
    for (let n = 0; n < 6; n++)
      expect(await pay(bankql.url, transfer('once'), { headers: { Connection: 'close' } })).toMatchObject({
        code: 'DONE',
        replayed: true,
        trackId: paid.trackId,
      });
    expect(bank.of('once')).toHaveLength(1);
    // The lines of operations are written a moment later.
    const served = () => [...new Set(withMessage(bankql, 'operation').map(({ pid }) => Number(pid)))].sort();
    await expect.poll(served).toEqual(workers.sort());
    expect(await metricsOf(bankql)).toMatchObject({
      'bankql_workers{state="desired"}': 2,
      'bankql_workers{state="running"}': 2,
      bankql_worker_crashes_total: 0,
      'bankql_graphql_requests_total{operation="other",kind="mutation",outcome="ok",fault="none"}': 7,
      bankql_state_up: 1,
    });
  });

  test('are all reached by SIGHUP', async () => {
    bankql.child.kill('SIGHUP');
    await expect.poll(() => withMessage(bankql, 'SIGHUP: reloaded')).toHaveLength(2);
    const reloaded = withMessage(bankql, 'SIGHUP: reloaded').map(({ pid }) => Number(pid));
    expect(reloaded.sort()).toEqual(workersOf(bankql).sort());
  });

  test('a worker that is killed is replaced, logged and counted, and no count falls', async () => {
    for (let n = 0; n < 4; n++) await ask(bankql);
    const name = 'bankql_graphql_requests_total{operation="other",kind="query",outcome="ok",fault="none"}';
    expect((await metricsOf(bankql))[name]).toBe(4);
    const [killed = 0] = workersOf(bankql);
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => withMessage(bankql, 'a worker ended')).toHaveLength(1);
    expect(withMessage(bankql, 'a worker ended')).toMatchObject([{ level: 50, how: 'SIGKILL' }]);
    await serving(bankql, 2);
    expect(workersOf(bankql)).not.toContain(killed);
    expect(await ask(bankql)).toEqual(answer);
    expect(await metricsOf(bankql)).toMatchObject({ [name]: 5, bankql_worker_crashes_total: 1 });
  });

  test('workers that are frozen do not count as running until they answer again, and the log names them', async () => {
    const frozen = workersOf(bankql);
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    try {
      await serving(bankql, 0);
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    }
    await serving(bankql, 2);
    const named = withMessage(bankql, 'a worker does not answer').map(({ worker }) => worker);
    expect(named).toEqual(expect.arrayContaining(frozen));
  });

  test('SIGUSR2 replaces the workers: no request is refused, and a payment in progress ends', async () => {
    const before = workersOf(bankql);
    const { paid, answer: answerPayment } = await payHeld(bankql, 'rolling');
    const asking = keepAsking(bankql.url);
    bankql.child.kill('SIGUSR2');
    await expect.poll(() => withMessage(bankql, 'all workers have been replaced')).toHaveLength(1);
    answerPayment();
    expect(await paid).toMatchObject({ code: 'DONE', replayed: false });
    // The old workers end, and all requests are answered in the meantime.
    await expect.poll(() => workersOf(bankql)).toHaveLength(2);
    await until(() => asking.good() > 20 || asking.failures.length > 0);
    await asking.stop();
    expect(asking.failures).toEqual([]);
    expect(workersOf(bankql).filter((pid) => before.includes(pid))).toEqual([]);
    expect(bank.of('rolling')).toHaveLength(1);
    expect(withMessage(bankql, 'a worker ended')).toHaveLength(1);
    // When a worker closes its store, the store must not count as unavailable, although the worker's last metrics query
    // it.
    expect(withMessage(bankql, 'the payment store is away')).toEqual([]);
  });

  test('SIGTERM to all processes, as from a terminal, lets requests in progress end, and the exit code is 0', async () => {
    const { paid, answer: answerPayment } = await payHeld(bankql, 'draining', payToTheEnd);
    for (const pid of workersOf(bankql)) process.kill(pid, 'SIGTERM');
    const stopped = bankql.stop();
    await expect.poll(() => workersOf(bankql)).toHaveLength(1);
    answerPayment();
    expect(await paid).toMatchObject({ code: 'DONE', replayed: false });
    expect(await stopped).toBe(0);
    expect(withMessage(bankql, 'bankql stops')).toHaveLength(1);
    expect(withMessage(bankql, 'bankql has stopped')).toHaveLength(1);
  });
});

test('under new connections a worker that is killed is replaced each time, all of them at once too, and SIGTERM ends the primary', async () => {
  await using bankql = await startProcess(environment());
  let ended = 0;
  const killEach = async (pids: readonly number[], signal: NodeJS.Signals) => {
    for (const pid of pids) process.kill(pid, signal);
    ended += pids.length;
    await expect.poll(() => withMessage(bankql, 'a worker ended')).toHaveLength(ended);
    await serving(bankql, 2);
  };
  const stop = keepConnecting(bankql.url);
  for (const signal of ['SIGKILL', 'SIGABRT'] as const) await killEach(workersOf(bankql).slice(0, 1), signal);
  await stop();
  expect(await ask(bankql)).toEqual(answer);

  // Without a worker, nobody listens. Later workers get another port, since this port is free (PORT=0).
  const stopAgain = keepConnecting(bankql.url);
  await killEach(workersOf(bankql), 'SIGKILL');
  for (const pid of workersOf(bankql)) process.kill(pid, 'SIGKILL');
  expect([0, 1]).toContain(await bankql.stop());
  await stopAgain();
});

describe('if the primary is killed, its workers complete requests in progress, and end', () => {
  /**
   * Sends a payment for each key, which the bank holds back.
   * Shape: a function that lets the payments end, and waits for the end of all processes.
   */
  async function payTwice({ url, child }: BankqlProcess, keys: readonly string[]) {
    // The workers have the output open as well, so it closes when they have ended too.
    const allEnded = once(child, 'close');
    const answers: (() => void)[] = [];
    const arrived = Promise.withResolvers<void>();
    bank.decide = (payment) => (socket) => {
      answers.push(() => accept(payment)(socket));
      if (answers.length === keys.length) arrived.resolve();
    };
    // Each new connection goes to the next worker.
    const paid = keys.map((key) => pay(url, transfer(key), { headers: { Connection: 'close' } }));
    await Promise.race([arrived.promise, ...paid.map((one) => one.then(neverSent))]);
    return async () => {
      for (const answerPayment of answers) answerPayment();
      for (const told of await Promise.all(paid))
        expect(told).toMatchObject({ code: 'DONE', replayed: false });
      await allEnded;
    };
  }

  test('at once', async () => {
    await using bankql = await startProcess(environment());
    const toTheEnd = await payTwice(bankql, ['orphan-1', 'orphan-2']);
    const killed = once(bankql.child, 'exit');
    bankql.child.kill('SIGKILL');
    await killed;
    await toTheEnd();
  });

  test('while it stops', async () => {
    await using bankql = await startProcess(environment());
    const toTheEnd = await payTwice(bankql, ['stopping-1', 'stopping-2']);
    bankql.child.kill('SIGTERM');
    await expect.poll(() => withMessage(bankql, 'bankql stops')).toHaveLength(1);
    bankql.child.kill('SIGKILL');
    await toTheEnd();
  });

  test('while it gives them connections', async () => {
    await using bankql = await startProcess(environment());
    const toTheEnd = await payTwice(bankql, ['given-1', 'given-2']);
    const workers = workersOf(bankql);
    for (const pid of workers) process.kill(pid, 'SIGSTOP');
    const connections = await connectTimes(bankql, workers.length);
    // The metrics are answered once the messages to the workers are on their way. The workers then confirm
    // that they have received them.
    await metricsOf(bankql);
    const killed = once(bankql.child, 'exit');
    bankql.child.kill('SIGKILL');
    await killed;
    for (const pid of workers) process.kill(pid, 'SIGCONT');
    await toTheEnd();
    for (const connection of connections) connection.destroy();
  });
});

describe('a worker that is killed while it ends', () => {
  test('during a stop is named in the log, and the others end their requests: the exit code is 1', async () => {
    await using bankql = await startProcess(environment());
    const { paid, answer: answerPayment } = await payHeld(bankql, 'killed-in-a-stop');
    const stopped = bankql.stop();
    // The idle worker has ended.
    await expect.poll(() => workersOf(bankql)).toHaveLength(1);
    process.kill(workersOf(bankql)[0] ?? 0, 'SIGKILL');
    expect(await stopped).toBe(1);
    answerPayment();
    await paid.catch(() => {});
    expect(withMessage(bankql, 'a worker ended before its requests and payments')).toMatchObject([
      { level: 50, how: 'SIGKILL' },
    ]);
    expect(withMessage(bankql, 'bankql has stopped')).toHaveLength(1);
    expect(bankql.output()).not.toContain('cannot go on');
    expect(bank.of('killed-in-a-stop')).toHaveLength(1);
  });

  test('after another took its place is named and counted', async () => {
    await using bankql = await startProcess(environment());
    const { paid, answer: answerPayment } = await payHeld(bankql, 'killed-in-a-change');
    const before = workersOf(bankql);
    bankql.child.kill('SIGUSR2');
    await expect.poll(() => withMessage(bankql, 'all workers have been replaced')).toHaveLength(1);
    await expect.poll(() => workersOf(bankql)).toHaveLength(3);
    process.kill(workersOf(bankql).find((pid) => before.includes(pid)) ?? 0, 'SIGKILL');
    await expect
      .poll(() => withMessage(bankql, 'a worker ended before its requests and payments'))
      .toMatchObject([{ level: 50, how: 'SIGKILL' }]);
    answerPayment();
    await paid.catch(() => {});
    expect(await metricsOf(bankql)).toMatchObject({ bankql_worker_crashes_total: 1 });
    expect(await bankql.stop()).toBe(0);
  });
});

test('a process that cannot be created is not waited for by a stop', async () => {
  // The third fork, which replaces a killed worker, fails. The stop begins before Node reports the failure.
  const failing = `
    import cluster from 'node:cluster';
    const { fork } = cluster;
    let forks = 0;
    if (cluster.isPrimary) cluster.fork = (...given) => {
      if (++forks < 3) return fork(...given);
      process.execPath = '/missing';
      queueMicrotask(() => process.emit('SIGTERM'));
      return fork(...given);
    };`;
  const preload = `--import=data:text/javascript;base64,${Buffer.from(failing).toString('base64')}`;
  await using bankql = await startProcess(environment({ NODE_OPTIONS: preload }));
  const ended = once(bankql.child, 'close');
  process.kill(workersOf(bankql)[0] ?? 0, 'SIGKILL');
  expect(await ended).toEqual([0, null]);
  expect(withMessage(bankql, 'bankql has stopped')).toHaveLength(1);
});

test('a worker that cannot store an outcome logs it, and its primary continues, and ends with 1', async () => {
  const given = environment({ [storeTimeoutVariable]: '3000' });
  await using bankql = await startProcess(given);
  const { paid, answer: answerPayment } = await payHeld(bankql, 'lost-by-a-worker');
  bankql.child.kill('SIGUSR2');
  await expect.poll(() => withMessage(bankql, 'all workers have been replaced')).toHaveLength(1);
  const lock = new DatabaseSync(given.STATE_URL.slice('sqlite:'.length));
  lock.exec('BEGIN IMMEDIATE');
  answerPayment();
  const { trackId } = await paid;
  const lost = () => withMessage(bankql, 'the payment store lacks an outcome');
  await expect.poll(lost).toMatchObject([{ level: 50, trackId, state: 'DONE' }]);
  lock.close();
  await expect.poll(() => workersOf(bankql)).toHaveLength(2);
  bank.decide = accept;
  expect(await payToTheEnd(bankql.url, transfer('later'))).toMatchObject({ code: 'DONE' });
  expect((await pay(bankql.url, transfer('lost-by-a-worker'))).code).toBe('IDEMPOTENCY_IN_PROGRESS');
  expect(bank.of('lost-by-a-worker')).toHaveLength(1);
  expect(withMessage(bankql, 'a worker ended')).toEqual([]);
  expect(await bankql.stop()).toBe(1);
  expect(withMessage(bankql, 'bankql has stopped')).toHaveLength(1);
});

test('a rate limit holds for all workers together, whichever one a connection leads to', async () => {
  await using bankql = await startProcess(environment({ WORKERS: '3', RATE_LIMIT: '5/600' }));
  const read = () =>
    post(bankql.url, '{ bank { messages { totalCount } } }', { ...credentials, Connection: 'close' });
  const codes: unknown[] = [];
  for (let n = 0; n < 12; n++)
    codes.push(
      ((await read()) as { errors?: [{ extensions: { code: string } }] }).errors?.[0].extensions.code,
    );
  expect(codes.filter((code) => code !== 'RATE_LIMITED')).toHaveLength(5);
  expect(codes.slice(5)).toEqual(Array.from({ length: 7 }, () => 'RATE_LIMITED'));
  const metrics = await metricsOf(bankql);
  expect(metrics.bankql_rate_limit_refusals_total).toBe(7);
});

test('while no process can be created, those that serve go on; it is tried again after longer and longer pauses', async () => {
  const missing =
    "process.on('SIGWINCH',()=>process.execPath=process.execPath==='/missing'?process.argv[0]:'/missing')";
  await using bankql = await startProcess(
    environment({ NODE_OPTIONS: `--import=data:text/javascript,${missing}` }),
  );
  bankql.child.kill('SIGWINCH');
  process.kill(workersOf(bankql)[0] ?? 0, 'SIGKILL');
  await expect.poll(() => withMessage(bankql, 'a worker cannot start').length).toBeGreaterThan(0);
  expect(withMessage(bankql, 'a worker cannot start')[0]).toMatchObject({ reason: 'spawn /missing ENOENT' });
  expect(await ask(bankql)).toEqual(answer);
  await expect.poll(() => withMessage(bankql, 'a worker cannot start').length).toBeGreaterThan(2);
  const [first = 0, second = 0, third = 0] = withMessage(bankql, 'a worker cannot start').map(({ time }) =>
    Number(time),
  );
  // The pauses are at least one second, then three; the log rounds to milliseconds.
  expect(second - first).toBeGreaterThan(990);
  expect(third - second).toBeGreaterThan(2990);
});

describe('SIGTERM while a worker starts is an orderly stop', () => {
  /**
   * A manifest that each worker reads during its start. The test provides it; `reached` resolves when a worker waits for it.
   */
  function holdStarts() {
    const manifest = join(folder, `held-${stores.next}.json`);
    spawnSync('mkfifo', [manifest]);
    return {
      manifest,
      reached: () => open(manifest, 'w'),
      async release(reader: FileHandle) {
        await reader.write('{"first":"{ __typename }"}');
        await reader.close();
      },
    };
  }

  /** A worker that listens prints this line. */
  const tellListening = `--import=data:text/javascript;base64,${Buffer.from(`
    import cluster from 'node:cluster';
    import { Server } from 'node:net';
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...given) {
      if (cluster.isWorker) console.log('a worker listens');
      return listen.apply(this, given);
    };`).toString('base64')}`;
  const listening = ({ output }: Pick<BankqlProcess, 'output'>) =>
    output()
      .split('\n')
      .filter((line) => line === 'a worker listens').length;

  async function launchHeld(manifest: string) {
    const port = String(await freePort());
    const settings = environment({ PORT: port, PERSISTED_DOCUMENTS: manifest, NODE_OPTIONS: tellListening });
    await initStore(settings.STATE_URL);
    const url = `http://127.0.0.1:${port}`;
    const isReady = () =>
      fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    const launched = launch(settings);
    const end = async () => void launched.child.kill('SIGKILL');
    return { ...launched, url, isReady, [Symbol.asyncDispose]: end };
  }

  /** Sends SIGTERM, and waits until the primary stops its workers. */
  async function terminate(bankql: ReturnType<typeof launch>) {
    bankql.child.kill('SIGTERM');
    const isStopping = () => withMessage(bankql, 'bankql stops').length === 1;
    await until(() => isStopping() || bankql.child.exitCode !== null);
    expect(bankql.output()).toContain('bankql stops');
  }

  test('before one serves', async () => {
    const { manifest, reached, release } = holdStarts();
    await using bankql = await launchHeld(manifest);
    const first = await reached();
    await terminate(bankql);
    await release(first);
    expect(await bankql.ended).toBe(0);
    expect(bankql.output()).not.toMatch(/bankql serves|cannot/);
    expect(listening(bankql)).toBe(0);
  });

  test('before it can receive messages', async () => {
    const { manifest, reached, release } = holdStarts();
    await using bankql = await launchHeld(manifest);
    await until(() => workersOf(bankql).length === 1);
    const [worker = 0] = workersOf(bankql);
    process.kill(worker, 'SIGSTOP');
    await terminate(bankql);
    process.kill(worker, 'SIGCONT');
    await release(await reached());
    expect(await bankql.ended).toBe(0);
    expect(listening(bankql)).toBe(0);
  });

  test('between the first and the last: a payment of the first one ends', async () => {
    const { manifest, reached, release } = holdStarts();
    await using bankql = await launchHeld(manifest);
    await release(await reached());
    await until(bankql.isReady);
    const last = await reached();
    const { paid, answer: answerPayment } = await payHeld(bankql, 'half-started', payToTheEnd);
    await terminate(bankql);
    answerPayment();
    expect(await paid).toMatchObject({ code: 'DONE', replayed: false });
    await release(last);
    expect(await bankql.ended).toBe(0);
    expect(bank.of('half-started')).toHaveLength(1);
    expect(bankql.output()).not.toMatch(/bankql serves|cannot/);
    // The port must stay closed.
    expect(listening(bankql)).toBe(1);
  });

  test('that takes the place of another', async () => {
    const { manifest, reached, release } = holdStarts();
    await using bankql = await launchHeld(manifest);
    await release(await reached());
    await until(bankql.isReady);
    await release(await reached());
    await until(() => withMessage(bankql, 'bankql serves').length === 1);
    process.kill(workersOf(bankql)[0] ?? 0, 'SIGKILL');
    const successor = await reached();
    await terminate(bankql);
    await release(successor);
    expect(await bankql.ended).toBe(0);
    expect(bankql.output()).not.toContain('cannot');
  });

  test('that gets it too, as from a terminal, before it can ignore it', async () => {
    const manifest = join(folder, 'not-held.json');
    writeFileSync(manifest, JSON.stringify({ first: '{ __typename }' }));
    await using bankql = await launchHeld(manifest);
    await until(() => workersOf(bankql).length === 1);
    const [worker = 0] = workersOf(bankql);
    // On a slow machine, the worker may already ignore SIGTERM by now. The result is the same.
    process.kill(worker, 'SIGSTOP');
    process.kill(worker, 'SIGTERM');
    await terminate(bankql);
    process.kill(worker, 'SIGCONT');
    expect(await bankql.ended).toBe(0);
    expect(bankql.output()).not.toContain('cannot');
  });

  test('and that cannot start', async () => {
    const { manifest, reached } = holdStarts();
    await using bankql = await launchHeld(manifest);
    const first = await reached();
    await terminate(bankql);
    await first.close();
    expect(await bankql.ended).toBe(0);
  });
});

describe('a start that fails', () => {
  test('because no process can be created says so', async () => {
    const { code, output } = await runProcess(
      environment({ NODE_OPTIONS: "--import=data:text/javascript,process.execPath='/missing'" }),
    );
    expect(code).toBe(1);
    expect(output).toBe('spawn /missing ENOENT\n');
  });

  test('says why once, as one process would', async () => {
    const taken = createServer();
    const port = String(await listenOnLoopback(taken));
    const settings = environment({ PORT: port });
    await runProcess(settings, ['payments', 'init']);
    const { code, output } = await runProcess(settings);
    taken.close();
    expect(code).toBe(1);
    expect(output).toBe(
      `bind EADDRINUSE 127.0.0.1:${port}: another process listens there; give another PORT, SANDBOX_PORT or METRICS_PORT.\n`,
    );
  });

  test('after a reload: those that serve go on; where all are killed, it says why and goes on trying', async () => {
    const manifest = join(folder, 'manifest.json');
    const writeManifest = (text: string) => writeFileSync(manifest, JSON.stringify({ first: text }));
    const variables = join(folder, 'production.env');
    writeManifest('{ __typename }');
    writeFileSync(variables, 'LOG_LEVEL=info\n');
    await using bankql = await startProcess(environment({ PERSISTED_DOCUMENTS: manifest }), [
      '--env-file',
      variables,
    ]);
    const failed = () => withMessage(bankql, 'those that serve go on');
    rmSync(variables);
    bankql.child.kill('SIGUSR2');
    await expect.poll(failed).toHaveLength(1);
    writeFileSync(variables, 'LOG_LEVEL=info\n');
    writeManifest('{ nowhere }');
    bankql.child.kill('SIGUSR2');
    await expect.poll(failed).toHaveLength(2);
    expect(failed()).toMatchObject([
      { reason: `--env-file ${variables} cannot be used: the file cannot be read: ENOENT.` },
      { reason: expect.stringMatching(/document first/) },
    ]);
    expect(await ask(bankql)).toEqual(answer);
    for (const pid of workersOf(bankql)) process.kill(pid, 'SIGKILL');
    await expect.poll(() => withMessage(bankql, 'a worker cannot start').length).toBeGreaterThanOrEqual(3);
    expect(withMessage(bankql, 'a worker cannot start')[0]?.reason).toMatch(/document first/);
    writeManifest('{ __typename }');
    await serving(bankql, 2);
  });
});

test('from code there is one process: WORKERS is refused', async () => {
  await expect(startBankql({ environment: environment() })).rejects.toThrow(
    'WORKERS=2 cannot be used: it is for the command bankql',
  );
});
