import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { initStore } from '../../../src/payments/store/open-store.ts';
import { withLimits } from '../../support/limits.ts';
import { freePort } from '../../support/loopback.ts';
import { type Replica, replicas, startNginx } from '../../support/nginx.ts';
import { type PaymentBank, startPaymentBank } from '../../support/payment-bank.ts';
import { durable, startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { type BankqlProcess, startProcess } from '../../support/process.ts';

/** The services of ops/compose as processes of this machine: nginx, two replicas, PostgreSQL, and a bank that counts. */

const ops = join(import.meta.dirname, '../../../ops/compose');
const compose = z
  .object({
    services: z.object({
      'bankql-1': z.object({ environment: z.record(z.string(), z.string()) }),
    }),
  })
  .parse(parse(readFileSync(join(ops, 'compose.yaml'), 'utf8'), { merge: true }));

export interface Topology extends AsyncDisposable {
  /** nginx' address. */
  readonly url: string;
  readonly bank: PaymentBank;
  readonly postgres: TestPostgres;
  /** Restarts a replica as ops/compose/rolling-restart.sh does. */
  roll(replica: Replica): Promise<void>;
  kill(replica: Replica): Promise<void>;
  start(replica: Replica): Promise<void>;
}

export async function startTopology(): Promise<Topology> {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-rolling-'));
  const drain = join(folder, 'drain');
  mkdirSync(drain);
  // If root starts nginx, its workers run as another user, who must be able to read the files of drain/.
  chmodSync(folder, 0o755);
  const bank = await startPaymentBank();
  const postgres = await startPostgres(durable);
  await initStore(postgres.url);
  const ports = { 'bankql-1': await freePort(), 'bankql-2': await freePort() };
  const running = new Map<Replica, BankqlProcess>();

  async function start(replica: Replica): Promise<void> {
    running.set(
      replica,
      await startProcess({
        ...compose.services['bankql-1'].environment,
        BANK_BASE_URL: bank.url,
        BANK_ID: 'BANK',
        BANK_SUBSCRIPTION_KEY: 'operator',
        STATE_URL: postgres.url,
        HOST: '127.0.0.1',
        PORT: String(ports[replica]),
        METRICS_PORT: '0',
        // All requests are of one caller and sent at fixed times, so on a slow machine many are in progress at once.
        ...withLimits({ requests: 10_000, requestsPerCaller: 10_000 }),
      }),
    );
    await until(async () => (await fetch(`http://127.0.0.1:${ports[replica]}/ready`)).ok);
  }
  const stop = async (replica: Replica, signal: NodeJS.Signals) => {
    const code = await running.get(replica)?.stop(signal);
    running.delete(replica);
    return code;
  };

  await Promise.all(replicas.map(start));
  const port = await freePort();
  // The load generator sends the caller's name, in place of the component that verifies callers.
  const nginx = startNginx(folder, port, ports, {
    provider: '$http_auth_provider_name',
    id: '$http_auth_id',
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/ready`)).ok);

  return {
    url,
    bank,
    postgres,
    start,
    async kill(replica) {
      await stop(replica, 'SIGKILL');
    },
    async roll(replica) {
      writeFileSync(join(drain, replica), '');
      await delay(1000);
      const code = await stop(replica, 'SIGTERM');
      if (code !== 0) throw new Error(`${replica} ended with ${code}`);
      await start(replica);
      rmSync(join(drain, replica));
    },
    async [Symbol.asyncDispose]() {
      const ended = once(nginx, 'exit');
      nginx.kill('SIGTERM');
      await ended;
      await Promise.all(replicas.map((replica) => stop(replica, 'SIGKILL')));
      await postgres[Symbol.asyncDispose]();
      await bank[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the check returns true; an error counts as false. The limit only ends a check that would never succeed. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 600_000; performance.now() < end; await delay(50))
    if (await isSo().catch(() => false)) return;
  throw new Error('it is not ready within ten minutes');
}
