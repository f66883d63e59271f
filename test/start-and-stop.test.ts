import { exec, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startBankql } from '../src/index.ts';
import { credentials } from './support/bankql.ts';
import { accept, startPaymentBank } from './support/payment-bank.ts';
import { pay, transfer } from './support/payment-client.ts';
import { post, runProcess, startProcess } from './support/process.ts';
import { startRecordingBank } from './support/recording-bank.ts';
import { testFolder } from './support/test-folder.ts';
import { lateBy } from './support/waits.ts';

const run = promisify(exec);

const folder = testFolder();

describe('started with nothing', () => {
  // bankql is started from the sources, as users start it.
  beforeAll(() => void vi.stubEnv('BANKQL_BUNDLE', undefined));
  afterAll(() => void vi.unstubAllEnvs());

  test('it prints its address and bank, and a query that works as pasted', async () => {
    let printed = '';
    const environment = { PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' };
    const bankql = await startBankql({
      environment,
      write(text) {
        printed += text;
      },
    });
    expect(printed).toMatch(
      /^bankql serves GraphQL at http:\/\/127\.0\.0\.1:\d+\/graphql \(GraphiQL in a browser\)\./,
    );
    expect(printed).toMatch(
      /embedded sandbox bank at http:\/\/127\.0\.0\.1:\d+; BANK_BASE_URL names a real one/,
    );
    const { stdout } = await run(printed.slice(printed.indexOf('curl')));
    expect(JSON.parse(stdout)).toEqual({
      data: { viewer: { account: { label: 'Everyday', balance: { amount: '4305.80', currency: 'EUR' } } } },
    });
    await bankql.stop();
    expect(printed).toMatch(/\nbankql has stopped\.\n$/);
  });

  test('the README’s query gives the README’s answer', async () => {
    const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8');
    const [, query = ''] = /```graphql\n([\s\S]*?)```/.exec(readme) ?? [];
    const [, answer = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
    await using bankql = await startProcess();
    const alice = {
      'Ocp-Apim-Subscription-Key': 'sandbox-key',
      'Auth-Provider-Name': 'sandbox',
      'Auth-ID': 'alice',
    };
    expect(await post(bankql.url, query, alice)).toEqual(JSON.parse(answer));
    for (const value of Object.values(alice)) expect(readme).toContain(value);
  });
});

test('the start and the stop are lines of the log where no terminal reads them, whatever the level', async () => {
  await using bankql = await startProcess({ LOG_LEVEL: 'error' });
  expect(await bankql.stop()).toBe(0);
  const lines = bankql.output().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 30,
      url: bankql.url,
      msg: expect.stringContaining(`bankql serves GraphQL at ${bankql.url}/graphql`),
    },
    { level: 30, msg: expect.stringContaining('bankql stops') },
    { level: 30, msg: 'bankql has stopped' },
  ]);
});

test('a proxy that bankql does not use is named at the start', async () => {
  const bank = { BANK_BASE_URL: 'https://127.0.0.1:1', BANK_ID: 'B', STATE_URL: 'memory:' };
  const proxy = { HTTPS_PROXY: 'http://proxy.example:3128' };
  const warnings = async (environment: Readonly<Record<string, string>>) => {
    await using bankql = await startProcess(environment);
    await bankql.stop();
    return bankql
      .output()
      .split('\n')
      .filter((line) => line.includes('HTTPS_PROXY'));
  };
  expect(await warnings({ ...bank, ...proxy })).toEqual([
    expect.stringContaining('reaches the bank directly'),
  ]);
  expect(await warnings({ ...bank, ...proxy, BANK_PROXY: 'http://127.0.0.1:1' })).toEqual([]);
  expect(await warnings(proxy)).toEqual([]);
});

describe('npm start', () => {
  /** The process has its own process group, as under a supervisor. */
  async function npmStart(environment: Readonly<Record<string, string>> = {}) {
    // bankql refuses unknown names with its prefixes.
    const { BANKQL_BUNDLE: _, ...own } = process.env;
    const started = spawn('npm', ['start'], {
      cwd: join(import.meta.dirname, '..'),
      env: { ...own, PORT: '0', SANDBOX_PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    let output = '';
    started.stdout.on('data', (text) => {
      output += text;
    });
    const address = () => /serves GraphQL at (\S+)\/graphql/.exec(output)?.[1] ?? '';
    // If the start fails, there is no reason to wait longer.
    await expect.poll(() => address() !== '' || started.exitCode !== null).toBe(true);
    expect(address()).not.toBe('');
    return { started, url: address() };
  }

  const isServed = (url: string) =>
    fetch(`${url}/health`).then(
      () => true,
      () => false,
    );

  test('stops with SIGTERM: nothing is left that holds the port', async () => {
    const { started, url } = await npmStart();
    started.kill('SIGTERM');
    await expect.poll(() => isServed(url), { interval: 100 }).toBe(false);
  });

  test('waits for a payment under way if SIGTERM goes to the whole group, although npm and its shell end', async () => {
    await using bank = await startPaymentBank();
    const answer = Promise.withResolvers<void>();
    bank.decide = (payment) => (socket) => void answer.promise.then(() => accept(payment)(socket));
    const { started, url } = await npmStart({
      BANK_BASE_URL: bank.url,
      STATE_URL: 'memory:',
      BANK_TRANSFER_TIMEOUT_MS: '60000',
    });
    const paid = pay(url, transfer('under-way'));
    await expect.poll(() => bank.payments).toHaveLength(1);
    const ended = once(started, 'exit');
    process.kill(-Number(started.pid), 'SIGTERM');
    await ended;
    // The wait is longer than bankql takes to notice that its shell has ended.
    void lateBy(1000).then(answer.resolve);
    expect((await paid).code).toBe('DONE');
    await expect.poll(() => isServed(url), { interval: 100 }).toBe(false);
  });
});

test('the sandbox bank runs alone', async () => {
  await using sandbox = await startProcess({}, ['sandbox']);
  const { stdout } = await run(sandbox.output().slice(sandbox.output().indexOf('curl')));
  expect(JSON.parse(stdout).branches).toHaveLength(26);
  expect(await sandbox.stop()).toBe(0);
});

describe('what it cannot start with ends it at once, with one line', () => {
  test('a bad value', async () => {
    expect(await runProcess({ PORT: 'x' })).toEqual({
      code: 1,
      output: 'PORT=x cannot be used: give a whole number from 0 to 65535, or leave it out for 4000.\n',
    });
  });

  test('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, output } = await runProcess({ PORT: String(port) });
    expect(code).toBe(1);
    expect(output).toContain(`127.0.0.1:${port}: another process listens there; give another PORT`);
    other.close();
  });

  test('a state store that cannot be opened', async () => {
    const { code, output } = await runProcess({ STATE_URL: `sqlite:${folder}` });
    expect(code).toBe(1);
    expect(output.trimEnd().split('\n')).toHaveLength(1);
    expect(output).toContain('STATE_URL');
  });

  test('a state store that is missing, which it does not create', async () => {
    const path = join(folder, 'mistyped', 'state.db');
    const { code, output } = await runProcess({ STATE_URL: `sqlite:${path}` });
    expect([code, existsSync(dirname(path))]).toEqual([1, false]);
    expect(output).toMatch(/^There is no payment store at \S+mistyped\/state\.db: .*bankql payments init/);
  });
});

test.each([
  [
    ['--port', '5000'],
    'bankql serve has no option --port: set the variable, as PORT=5000.\nusage: bankql [serve]',
  ],
  [['config', 'check'], '`bankql config check` is `bankql check` now.'],
  [['payments', 'show', 'zzz'], 'An id is hexadecimal (0 to 9, a to f)'],
])(
  '%j cannot be used: it exits with 2, says first what is wrong, and starts nothing',
  async (words, message) => {
    const { code, output } = await runProcess({}, words);
    expect(code).toBe(2);
    expect(output).toContain(message);
    expect(output).not.toContain('serves');
  },
);

const payment = `mutation { makeTransaction(input: {
  bankId: "BANK", accountId: "from", to: { accountId: "to" }, value: { amount: "12.50" }, idempotencyKey: "key-1"
}) { replayed payment { transactionId trackId } } }`;

test('a payment whose client has left ends before the process does', async () => {
  await using bank = await startRecordingBank();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  bank.otherwise(async () => {
    arrive();
    await released;
    return { body: { id: 'tx-2' } };
  });
  const environment = { BANK_BASE_URL: bank.url, STATE_URL: `sqlite:${join(folder, 'left.db')}` };
  await using bankql = await startProcess(environment);
  const leaving = new AbortController();
  const asked = post(bankql.url, payment, credentials, leaving.signal).catch(() => 'left');
  await arrived;
  leaving.abort();
  expect(await asked).toBe('left');
  const stopped = bankql.stop();
  release();
  expect(await stopped).toBe(0);
  expect(bankql.output()).toContain('"state":"DONE"');

  await using again = await startProcess(environment);
  expect(await post(again.url, payment, credentials)).toMatchObject({
    data: { makeTransaction: { replayed: true, payment: { transactionId: 'tx-2' } } },
  });
  expect(bank.calls).toHaveLength(1);
});

describe('a promise that nobody awaits, and that is rejected while a request is answered', () => {
  /**
   * Code that is loaded before bankql. It makes a request with X-Fault fail at the place where calls get
   * their Track-ID.
   */
  const saboteur = `
    import crypto from 'node:crypto';
    import { Server } from 'node:http';
    import { syncBuiltinESMExports } from 'node:module';
    let fault;
    const emit = Server.prototype.emit;
    Server.prototype.emit = function (name, incoming, ...more) {
      if (name === 'request') fault = incoming.headers['x-fault'];
      return emit.call(this, name, incoming, ...more);
    };
    const { randomUUID } = crypto;
    crypto.randomUUID = () => {
      if (fault === 'error') void Promise.reject(new TypeError('nobody waits for this'));
      if (fault === 'no error') setImmediate(() => void Promise.reject({ secret: 'hangs on it' }));
      return randomUUID();
    };
    syncBuiltinESMExports();`;
  const environment = (url: string) => ({
    NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(saboteur).toString('base64')}`,
    BANK_BASE_URL: url,
    BANK_ID: 'BANK',
    STATE_URL: 'memory:',
  });
  const put = 'mutation { putProduct(input: { product: {} }) { product { name } } }';

  test.each([
    ['error', 'TypeError', 'nobody waits for this'],
    ['no error', 'UnhandledPromiseRejection', 'A promise was rejected with what is no error.'],
  ])(
    'is logged, and the operation answers what it did: neither another nor the process ends (%s)',
    async (fault, type, message) => {
      await using bank = await startRecordingBank();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      bank.otherwise(async () => {
        await released;
        return { body: { name: 'n' } };
      });
      await using bankql = await startProcess(environment(bank.url));
      const other = post(bankql.url, put, credentials);
      await expect.poll(() => bank.calls.length).toBe(1);
      const unlucky = fetch(`${bankql.url}/graphql`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...credentials,
          'X-Fault': fault,
          'X-Request-Id': 'unlucky',
        },
        body: JSON.stringify({ query: put }),
      });
      await expect.poll(() => bankql.output()).toContain('unexpected error');
      release();
      const answered = { data: { putProduct: { product: { name: 'n' } } } };
      const response = await unlucky;
      expect(response.status).toBe(200);
      expect(response.headers.get('x-request-id')).toBe('unlucky');
      expect(await response.json()).toEqual(answered);
      expect(await other).toEqual(answered);
      expect(await post(bankql.url, put, credentials)).toEqual(answered);
      expect(await bankql.stop()).toBe(0);
      const line = bankql
        .output()
        .split('\n')
        .find((text) => text.includes('unexpected error'));
      expect(JSON.parse(line ?? '')).toMatchObject({ requestId: 'unlucky', err: { type, message } });
      expect(bankql.output()).not.toContain('hangs on it');
    },
  );
});

test('what V8 has compiled is kept beside the code, for the next start', async () => {
  const report =
    'process.on("exit", () => console.log(process.getBuiltinModule("module").getCompileCacheDir()))';
  const command = `'${process.execPath}' --import 'data:text/javascript,${report}' bin/bankql.js --version`;
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stdout } = await run(command, { cwd: join(import.meta.dirname, '..'), env });
  const kept = join(import.meta.dirname, '../node_modules/.cache/bankql/');
  expect(stdout.split('\n')[1]).toContain(kept);
});
