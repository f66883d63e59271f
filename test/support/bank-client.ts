import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';

/** A client of the bank at this address, with limits that suit a test. */
export function createTestClient(
  baseUrl: string,
  options: Partial<Omit<BankOptions, 'baseUrl'>> = {},
): BankClient & AsyncDisposable {
  const client = createBankClient({
    baseUrl,
    timeoutMs: 2000,
    paymentTimeoutMs: 2000,
    connectTimeoutMs: 500,
    connections: 8,
    maxBodyBytes: 1024 * 1024,
    ...options,
  });
  return { ...client, [Symbol.asyncDispose]: () => client.close() };
}
