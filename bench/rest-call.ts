import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import { createBankClient } from '../src/bank/client.ts';
import { operations } from '../src/contract/operations.ts';
import { readFrom } from '../test/support/read-from.ts';
import { bankId, customerCount } from './bank/records.ts';
import { openBank } from './bank/stub.ts';

/**
 * The processor time of a read through the bank client, beside that of the same call through a bare undici Pool with
 * JSON.parse: rounds in turns, medians. The bank is a process of its own. The first argument is the number of rounds.
 */

const options = {
  timeoutMs: 5000,
  paymentTimeoutMs: 15_000,
  connectTimeoutMs: 1000,
  connections: 64,
  waitMs: 250,
  operationShare: 0.5,
  connectionPerCaller: false,
  maxBodyBytes: 8 * 1024 * 1024,
  retryShare: 0.1,
  breakerThreshold: 0.5,
  breakerOpenMs: 10_000,
  slowCallMs: 4000,
  publicCacheTtlMs: 60_000,
  publicCacheBytes: 32 * 1024 * 1024,
};
const concurrency = 23;
const callsPerRound = 4600;

if (process.argv[2] === 'bank') {
  const bank = await openBank();
  bank.set({ bodies: 'fresh' });
  process.send?.(bank.url);
} else {
  const rounds = Number(process.argv[2] ?? 15);
  const bank = fork(import.meta.filename, ['bank']);
  const [url] = await once(bank, 'message');
  await compare(String(url), rounds);
  bank.kill();
}

/** Processor time of a call, in microseconds. */
async function measure(call: (nth: number) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let nth = 0; nth < callsPerRound; nth += concurrency)
    await Promise.all(Array.from({ length: concurrency }, (_, at) => call(nth + at)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / callsPerRound;
}

async function compare(url: string, rounds: number): Promise<void> {
  const credentials = { subscriptionKey: 'key', authProviderName: 'provider', authId: 'caller' };
  const idOf = (nth: number) => `customer-${nth % customerCount}`;
  const client = createBankClient({ ...options, baseUrl: url });
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  const headers = Object.entries({
    'Ocp-Apim-Subscription-Key': 'key',
    'Auth-Provider-Name': 'provider',
    'Auth-ID': 'caller',
    Accept: 'application/json',
  }).flat();
  const bare = (nth: number) =>
    new Promise<unknown>((resolve, reject) => {
      const chunks: Buffer[] = [];
      pool.dispatch(
        { method: 'GET', path: `/v1/api/banks/${bankId}/customers/${idOf(nth)}`, headers },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_, chunk) => void chunks.push(chunk),
          onResponseEnd: () => resolve(JSON.parse(Buffer.concat(chunks).toString())),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
  // Unshared, since the same customers are read at the same time.
  const through = (nth: number) =>
    readFrom(
      client,
      operations.getCustomer,
      { ids: { bankId, customerId: idOf(nth) }, credentials },
      { unshared: true },
    );
  const times = { bare: [] as number[], through: [] as number[] };
  for (let round = 0; round < rounds + 2; round++) {
    const [first, second] = [await measure(bare), await measure(through)];
    // The first rounds warm up.
    if (round < 2) continue;
    times.bare.push(first);
    times.through.push(second);
  }
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  const more = median(times.through.map((time, at) => time - (times.bare[at] ?? 0)));
  process.stdout.write(
    `µs of processor time for a call: Pool.dispatch ${median(times.bare).toFixed(1)}, the bank client ${median(times.through).toFixed(1)}, more ${more.toFixed(1)}\n`,
  );
  await Promise.all([client.close(), pool.destroy()]);
}
