import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { openLogOutput } from '../../src/app/log-output.ts';
import type { AuditEntry } from '../../src/payments/audit.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { createTestBankql } from '../support/bankql.ts';
import { logLines } from '../support/log-lines.ts';
import { clock } from '../support/monotonic-clock.ts';
import { startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { testFolder } from '../support/test-folder.ts';
import { until } from '../support/waits.ts';

const folder = testFolder();

/** A pipe that only this test reads. */
function openPipe() {
  const path = join(folder, 'pipe');
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  return {
    path,
    fd,
    /** Fills the pipe with dots. */
    fill() {
      for (const size of [4096, 1])
        try {
          for (;;) writeSync(fd, '.'.repeat(size));
        } catch {
          // It is full.
        }
    },
    /** Reads up to this number of bytes from the pipe. Returns an empty text if the pipe is empty. */
    read(bytes: number): string {
      const text = Buffer.alloc(bytes);
      try {
        return text.toString('utf8', 0, readSync(fd, text));
      } catch {
        return '';
      }
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

test('a payment that cannot be logged is not sent, and its key stays free', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise({ body: {} });
  const store = createMemoryStore({ retentionMs: 86_400_000 });
  const payWith = async (path: string) => {
    const fd = openSync(path, 'w');
    const output = openLogOutput(fd, true, { maxLength: 10_000 });
    const log = pino(output.stream);
    const audit = (entry: AuditEntry) => {
      log.info(entry);
      output.check();
    };
    await using bankql = await createTestBankql({ bankUrl: bank.url, store, paymentOptions: { audit } });
    const told = await pay(bankql, transfer('key'));
    output.end();
    closeSync(fd);
    return told;
  };
  expect(await payWith('/dev/full')).toMatchObject({ code: 'STATE_UNAVAILABLE' });
  expect(bank.calls).toEqual([]);
  expect(await store.search({})).toEqual([]);
  expect(await payWith('/dev/null')).toMatchObject({ code: 'DONE', replayed: false });
  expect(bank.calls).toHaveLength(1);
});

test('lines that cannot be written are kept up to a length, and dropped ones are counted', () => {
  const fd = openSync('/dev/full', 'w');
  let dropped = 0;
  const output = openLogOutput(fd, true, { maxLength: 10_000, onDropped: () => dropped++ });
  const log = pino(output.stream);
  for (let n = 0; n < 200; n++) {
    log.info({ n, text: 'x'.repeat(100) });
    expect(() => output.check()).toThrow();
  }
  expect(dropped).toBeGreaterThan(100);
  expect(dropped).toBeLessThan(200);
  output.end();
  closeSync(fd);
});

describe('a reader that has stopped', () => {
  /** Stops reading the process's log, and pays until a payment is refused. */
  async function payUntilRefused({ child, url }: BankqlProcess) {
    child.stdout?.pause();
    for (let paid = 0; ; paid++) {
      const told = await pay(url, transfer(String(paid)));
      if (told.code !== 'DONE') return { paid, told };
    }
  }

  test('stops only payments, until it reads again', async () => {
    await using bank = await startPaymentBank();
    await using bankql = await startProcess({
      BANK_BASE_URL: bank.url,
      STATE_URL: `sqlite:${join(folder, 'state.db')}`,
    });
    const { paid, told } = await payUntilRefused(bankql);
    expect(told).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('cannot be logged'),
    });
    expect(bank.payments).toHaveLength(paid);
    expect((await fetch(`${bankql.url}/health`)).status).toBe(200);
    bankql.child.stdout?.resume();
    await until(async () => (await pay(bankql.url, transfer(String(paid)))).code === 'DONE');
    expect(bank.of(String(paid))).toHaveLength(1);
    expect(await bankql.stop()).toBe(0);
    const lines = logLines(bankql.output(), '"audit":"payment"');
    for (const { trackId } of bank.payments)
      expect(lines.filter((line) => line.trackId === trackId)).toMatchObject([
        { state: 'PENDING' },
        { state: 'DONE' },
      ]);
  });

  test('does not keep a process running after SIGTERM', async () => {
    await using bank = await startPaymentBank();
    await using bankql = await startProcess({
      BANK_BASE_URL: bank.url,
      STATE_URL: `sqlite:${join(folder, 'another.db')}`,
    });
    await payUntilRefused(bankql);
    const ended = once(bankql.child, 'exit');
    bankql.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    bankql.child.stdout?.resume();
  });

  test('blocks nothing: the lines wait, and come whole and in order when it reads again', () => {
    using pipe = openPipe();
    pipe.fill();
    const outputs = ['a', 'b'].map((name) => {
      const output = openLogOutput(pipe.fd, true, { maxLength: 100_000 });
      const log = pino({ name }, output.stream);
      let n = 0;
      return { name, output, write: () => log.info({ n: n++, text: 'x'.repeat(200) }), written: () => n };
    });
    for (const { output, write } of outputs)
      for (let n = 0; n < 50; n++) {
        write();
        expect(() => output.check()).toThrow('EAGAIN');
      }
    let text = '';
    for (let part = '.'; part !== ''; text += part) {
      // Each iteration makes space in the pipe for a part of the waiting lines, and lets both outputs write.
      part = pipe.read(2 * 4096);
      for (const { write } of outputs) if (text.length + part.length < 80_000) write();
    }
    for (const { output } of outputs) expect(() => output.check()).not.toThrow();
    const lines = text.replace(/^\.+/, '').trimEnd().split('\n');
    const read = lines.map((line) => JSON.parse(line));
    for (const { name, written } of outputs)
      expect(read.filter((line) => line.name === name).map(({ n }) => n)).toEqual(
        Array.from({ length: written() }, (_, n) => n),
      );
    for (const { output } of outputs) output.end();
  });

  test('gets the lines that waited when it reads again, also if no further line comes', async () => {
    using pipe = openPipe();
    pipe.fill();
    const output = openLogOutput(pipe.fd, true, { maxLength: 10_000 });
    pino({}, output.stream).info('waited');
    expect(() => output.check()).toThrow('EAGAIN');
    let text = '';
    await until(() => {
      text += pipe.read(200_000);
      return text.endsWith('"msg":"waited"}\n');
    });
    expect(() => output.check()).not.toThrow();
    output.end();
  });

  test('gets the lines that waited at the end of the process', () => {
    using pipe = openPipe();
    pipe.fill();
    const output = openLogOutput(pipe.fd, true, { maxLength: 10_000 });
    pino({}, output.stream).info('waited');
    expect(pipe.read(200_000)).toMatch(/^\.*$/);
    output.end();
    expect(pipe.read(200_000)).toMatch(/"msg":"waited"\}\n$/);
  });
});

describe('lines that are written together, a moment later', () => {
  /** Starts a process that logs three lines and then runs this code. Returns its output and its end. */
  const run = (then: string, stdout: 'pipe' | number = 'pipe') => {
    const output = JSON.stringify(join(import.meta.dirname, '../../src/app/log-output.ts'));
    const program = `
      import { pino } from 'pino';
      import { openLogOutput } from ${output};
      const output = openLogOutput(1, false, { maxLength: 10_000 });
      process.prependListener('exit', output.end);
      const log = pino({}, output.stream);
      for (const n of [1, 2, 3]) log.info({ n });
      ${then}`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: join(import.meta.dirname, '../..'),
      stdio: ['ignore', stdout, 'ignore'],
      encoding: 'utf8',
    });
    const lines = (ended.stdout ?? '').trim().split('\n');
    return { status: ended.status, numbers: lines.filter(Boolean).map((line) => JSON.parse(line).n) };
  };

  test.for([
    ['it ends by itself', '', 0],
    ['it is ended', 'process.exit(7);', 7],
    ['it crashes', "throw new Error('a fault');", 1],
    ['they have waited', "setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2_000);", null],
  ] as const)('are written when %s', ([, then, status]) => {
    expect(run(then)).toEqual({ status, numbers: [1, 2, 3] });
  });

  test('are written whole at the end to a reader that is busy, and given up where it takes nothing', () => {
    using pipe = openPipe();
    pipe.fill();
    const output = openLogOutput(pipe.fd, false, { maxLength: 100_000 });
    pino({}, output.stream).info({ text: 'x'.repeat(10_000) });
    // The clock stands still, so that even a reader that starts slowly is in time.
    const now = clock.real();
    clock.now = () => now;
    spawn('sh', ['-c', `head -c 30000 '${pipe.path}' > /dev/null`], { stdio: 'ignore' });
    output.end();
    clock.now = clock.real;
    const rest = pipe.read(200_000);
    expect(rest).toMatch(/^\.*\{.*"text":"x{10000}"\}\n$/);

    pipe.fill();
    const other = openLogOutput(pipe.fd, false, { maxLength: 100_000 });
    pino({}, other.stream).info({ text: 'nobody reads it' });
    other.end();
    expect(() => other.check()).toThrow('EAGAIN');
    expect(pipe.read(200_000)).toMatch(/^\.*$/);
  });

  test.for([
    ['before it was tried', 0],
    ['after it was tried', 500],
  ] as const)('do not keep a process that ends while its disk is full, %s', ([, ms]) => {
    const full = openSync('/dev/full', 'w');
    expect(run(`setTimeout(() => process.exit(7), ${ms});`, full).status).toBe(7);
    closeSync(full);
  });
});
