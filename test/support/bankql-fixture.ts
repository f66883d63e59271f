import { afterAll, beforeEach } from 'vitest';
import { createTestBankql, type Result, type TestBankql, type TestOptions } from './bankql.ts';
import { type RecordedCall, type RecordingBank, startRecordingBank } from './recording-bank.ts';

/** A recording bank, and bankql in front of it. */
export interface BankqlFixture extends AsyncDisposable {
  readonly bank: RecordingBank;
  readonly bankql: TestBankql;
  readonly ask: TestBankql['ask'];
}

export async function startBankqlFixture(options: Omit<TestOptions, 'bankUrl'> = {}): Promise<BankqlFixture> {
  const bank = await startRecordingBank();
  const bankql = await createTestBankql({ ...options, bankUrl: bank.url });
  return {
    bank,
    bankql,
    ask: bankql.ask,
    async [Symbol.asyncDispose]() {
      await bankql[Symbol.asyncDispose]();
      await bank.close();
    },
  };
}

/** A fixture for all tests of a file that change nothing. Its bank is reset before each test. */
export async function shareBankqlFixture(...options: Parameters<typeof startBankqlFixture>) {
  const fixture = await startBankqlFixture(...options);
  beforeEach(() => fixture.bank.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());
  return fixture;
}

/** An answer's errors as lines such as "bank.account.owners.1 FORBIDDEN". They are sorted, because their order has no meaning. */
export const failuresOf = (result: Result<unknown>): string[] =>
  (result.errors ?? [])
    .map(({ path, extensions }) => `${path?.join('.') ?? 'request'} ${extensions.code}`)
    .sort();

/** The audit log's lines about the outcomes of payments: all lines except those for PENDING. */
export const endedIn = ({ audit }: TestBankql) => audit.filter(({ state }) => state !== 'PENDING');

/** The call that arrived, which must be the only one. */
export function onlyCall({ calls }: RecordingBank): RecordedCall {
  const [call] = calls;
  if (call === undefined || calls.length > 1) throw new Error(`${calls.length} calls arrived instead of one`);
  return call;
}

/** The full line of a call such as `GET /branches` at the default bank. A full path stays unchanged. */
export const bankLine = (line: string): string => line.replace(/ \/(?!v1)/, ' /v1/api/banks/BANK/');

/** A JSON number with these digits, for an answer of the bank. */
export const exact = (digits: string): object => JSON.rawJSON(digits);

/**
 * The JSON that arrived at the bank, with each number as `{ number: its digits }`, so that numbers differ from texts and are not
 * rounded.
 */
export const sentJson = ({ body }: RecordedCall): unknown =>
  JSON.parse(body, (_key, value, { source }) => (typeof value === 'number' ? { number: source } : value));
