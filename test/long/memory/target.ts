import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bankId } from '../../../bench/bank/records.ts';
import { openBank } from '../../../bench/bank/stub.ts';
import { bankql } from '../../../bench/contenders.ts';
import { freePort } from '../../support/loopback.ts';
import { startProcess } from '../../support/process.ts';
import { liveHeap } from '../live-heap.ts';

export type Target = Awaited<ReturnType<typeof startTarget>>;

/** The options of V8 with which the image of ops/Dockerfile runs in a container of so much memory. */
export function nodeOptionsIn(megabytes: number): string {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../../ops/Dockerfile'), 'utf8');
  const options = /NODE_OPTIONS="([^"]+)"/.exec(dockerfile)?.[1] ?? '';
  const percentage = /--max-old-space-size-percentage=(\d+)/.exec(options);
  if (percentage === null) throw new Error('ops/Dockerfile says no share for the heap');
  // Node would take it of this machine's memory.
  return options.replace(
    percentage[0],
    `--max-old-space-size=${Math.floor((megabytes * Number(percentage[1])) / 100)}`,
  );
}

/** bankql as the bench runs it, over the bench's bank: in a container of so much memory, or as Node sizes it (null). */
export async function startTarget(megabytes: number | null, environment: Record<string, string> = {}) {
  const bank = await openBank();
  bank.reset();
  const inspectPort = await freePort();
  const inspect = `--inspect=127.0.0.1:${inspectPort}`;
  const bankqlProcess = await startProcess({
    NODE_ENV: 'production',
    BANK_BASE_URL: bank.url,
    ...bankql.environment,
    BANK_ID: bankId,
    STATE_URL: 'memory:',
    METRICS_PORT: '0',
    NODE_OPTIONS: megabytes === null ? inspect : `${nodeOptionsIn(megabytes)} ${inspect}`,
    ...environment,
  });
  const { child, url } = bankqlProcess;
  const [, metricsUrl = ''] = /"metrics":"([^"]+)"/.exec(bankqlProcess.output()) ?? [];
  return {
    bank,
    url,
    metricsUrl,
    pid: child.pid ?? 0,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    output: bankqlProcess.output,
    liveHeap: () => liveHeap(inspectPort),
    async [Symbol.asyncDispose]() {
      await bankqlProcess[Symbol.asyncDispose]();
      await bank[Symbol.asyncDispose]();
    },
  };
}
