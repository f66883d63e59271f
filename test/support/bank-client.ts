import { onTestFinished } from 'vitest';
import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';
import type { CallInput } from '../../src/bank/request.ts';
import type { BankRead, ReadLimits } from '../../src/bank/shared-reads.ts';
import type { Answer, Operation } from '../../src/contract/operation.ts';
import { BankqlError } from '../../src/errors.ts';
import { bankDefaults } from './bankql.ts';
import { type Act, hang, startFaultyBank } from './faulty-bank.ts';
import type { SampleCall } from './sample-calls.ts';

/** A client of the bank at this address, with limits for tests. */
export function createTestClient(
  baseUrl: string,
  options: Partial<Omit<BankOptions, 'baseUrl'>> = {},
): BankClient & AsyncDisposable {
  const client = createBankClient({
    baseUrl,
    ...bankDefaults,
    connections: 8,
    ...options,
  });
  return { ...client, [Symbol.asyncDispose]: () => client.close() };
}

/** A bank with this behaviour, and a client of it. Both end with the test. */
export async function connect(act: Act = hang, options: Parameters<typeof createTestClient>[1] = {}) {
  const bank = await startFaultyBank(act);
  const client = createTestClient(bank.url, options);
  onTestFinished(async () => {
    await client.close();
    await bank.close();
  });
  return { bank, client };
}

/**
 * The error of a call, and the time that it took.
 * Errors: an Error if the call does not fail as bankql's calls do.
 */
export async function failedCall(sample: SampleCall, client: BankClient) {
  const started = performance.now();
  const error = await sample.run(client).then(
    ({ answer }) => answer,
    (reason: unknown) => reason,
  );
  const elapsedMs = performance.now() - started;
  if (!(error instanceof BankqlError)) throw new Error(`no failure: ${JSON.stringify(error)} ${error}`);
  return { error, elapsedMs };
}

/** A read of a record by its ids. */
export const readFrom = async <T extends Operation & { readonly kind: 'read' }>(
  client: BankClient,
  operation: T,
  input: CallInput<T>,
  limits: ReadLimits = {},
): Promise<BankRead<Answer<T>>> => client.reads.read(client.prepare(operation, input), limits, 'result');
