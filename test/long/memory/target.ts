import { bankId } from '../../../bench/bank/records.ts';
import { openBank } from '../../../bench/bank/stub.ts';
import { bankql } from '../../../bench/contenders.ts';
import { freePort } from '../../support/loopback.ts';
import { startProcess } from '../../support/process.ts';
import { liveHeap } from '../live-heap.ts';

/** bankql with the settings of the bench, and the bench's bank. */
export async function startTarget(environment: Record<string, string> = {}) {
  const bank = await openBank();
  bank.reset();
  const inspectPort = await freePort();
  const bankqlProcess = await startProcess({
    NODE_ENV: 'production',
    BANK_BASE_URL: bank.url,
    ...bankql.environment,
    BANK_ID: bankId,
    STATE_URL: 'memory:',
    NODE_OPTIONS: `--inspect=127.0.0.1:${inspectPort}`,
    ...environment,
  });
  const { child, url } = bankqlProcess;
  return {
    bank,
    url,
    pid: child.pid ?? 0,
    liveHeap: () => liveHeap(inspectPort),
    async [Symbol.asyncDispose]() {
      await bankqlProcess[Symbol.asyncDispose]();
      await bank[Symbol.asyncDispose]();
    },
  };
}
