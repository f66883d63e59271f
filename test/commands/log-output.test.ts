import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { openLogOutput } from '../../src/commands/log-output.ts';
import { operations } from '../../src/contract/operations.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

test('a payment that cannot be logged is not sent, and its key stays free', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise(() => ({ body: {} }));
  const client = createBankClient({ ...bankDefaults, baseUrl: bank.url });
  const store = await createMemoryStore({ retentionMs: 86_400_000 });
  const payWith = (path: string) => {
    const fd = openSync(path, 'w');
    const output = openLogOutput(fd, true, { maxLength: 10_000 });
    const log = pino(output.stream);
    const payments = createPaymentService({
      bank: client,
      store,
      leaseMs: 10_000,
      audit(entry) {
        log.info(entry);
        output.check();
      },
    });
    return payments
      .pay(operations.postMakeTransaction, {
        idempotencyKey: 'key',
        input: {
          ids: { bankId: 'B', accountId: 'A' },
          body: { from: {}, to: {} },
          credentials: { subscriptionKey: 'key', authProviderName: 'provider', authId: 'caller' },
        },
      })
      .finally(() => closeSync(fd));
  };
  await expect(payWith('/dev/full')).rejects.toMatchObject({ extensions: { code: 'STATE_UNAVAILABLE' } });
  expect(bank.calls).toEqual([]);
  expect(await store.search({}, Date.now())).toEqual([]);
  expect(await payWith('/dev/null')).toMatchObject({ replayed: false });
  expect(bank.calls).toHaveLength(1);
  await client.close();
});

test('lines that cannot be written are kept up to a length, and dropping one is said', () => {
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
  closeSync(fd);
});

describe('lines that may be late', () => {
  /** A process that logs three lines, and then does as told; what it printed, and how it ended. */
  const run = (then: string, stdout: 'pipe' | number = 'pipe') => {
    const output = JSON.stringify(join(import.meta.dirname, '../../src/commands/log-output.ts'));
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
    const folder = mkdtempSync(join(tmpdir(), 'bankql-log-'));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const read = (bytes: number) => {
      const text = Buffer.alloc(bytes);
      return text.toString('utf8', 0, readSync(fd, text));
    };
    const fill = () => {
      for (const size of [4096, 1])
        try {
          for (;;) writeSync(fd, '.'.repeat(size));
        } catch {
          // It is full.
        }
    };
    try {
      fill();
      const output = openLogOutput(fd, false, { maxLength: 10_000 });
      pino({}, output.stream).info({ text: 'x'.repeat(10_000) });
      spawn('sh', ['-c', `sleep 0.2; head -c 30000 '${path}' > /dev/null`], { stdio: 'ignore' });
      output.end();
      const rest = read(200_000);
      expect(rest).toMatch(/^\.*\{.*"text":"x{10000}"\}\n$/);

      fill();
      const other = openLogOutput(fd, false, { maxLength: 10_000 });
      pino({}, other.stream).info({ text: 'nobody reads it' });
      other.end();
      expect(() => other.check()).toThrow('EAGAIN');
      expect(read(200_000)).toMatch(/^\.*$/);
    } finally {
      closeSync(fd);
      rmSync(folder, { recursive: true });
    }
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
