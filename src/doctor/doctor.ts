import type { BankOptions } from '../bank/client.ts';
import { createTransport } from '../bank/exchange.ts';
import { type Check, checksOf } from './checks.ts';
import type { DoctorOptions } from './options.ts';
import { type CheckResult, runCheck } from './run-check.ts';

/** The doctor's options and environment. */
export interface DoctorContext extends DoctorOptions {
  readonly bank: Pick<BankOptions, 'baseUrl' | 'timeoutMs' | 'connectTimeoutMs' | 'maxBodyBytes' | 'network'>;
  /** BANK_ACCOUNT_SCOPE. */
  readonly accountScope?: string;
  /** Receives the output, line by line. */
  readonly write: (text: string) => void;
  /** Is told which call is under way, and null when none is any more. */
  readonly progress?: (activity: string | null) => void;
}

const widthOf = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));

type Row = (
  operation: string,
  request: string,
  status: string,
  milliseconds: string,
  verdict: string,
) => string;

function rowsFor(checks: readonly Check[]): Row {
  const operationWidth = widthOf(checks.map(({ operation }) => operation.id));
  const requestWidth = widthOf(checks.map(({ request }) => request));
  return (operation, request, status, milliseconds, verdict) =>
    [
      operation.padEnd(operationWidth),
      request.padEnd(requestWidth),
      status.padStart(6),
      milliseconds.padStart(6),
      verdict,
    ].join('  ');
}

/**
 * Calls every read operation for which ids are given, once and one after the other, and prints how the answers compare
 * with the contract. It cannot write: see checks.ts. It prints no credentials and no values from answers, except the
 * bank's message when it refuses a call.
 * Shape:  the exit code: 0 if every call conforms, 1 if one does not, 2 if none could be made.
 * Errors: BankqlError BAD_USER_INPUT if an id cannot be sent.
 */
export async function runDoctor({
  bank,
  ids,
  credentials,
  write,
  progress = () => {},
  accountScope = 'views',
}: DoctorContext): Promise<number> {
  const checks = checksOf(accountScope);
  const row = rowsFor(checks);
  const { origin, pathname } = new URL(bank.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const transport = createTransport({
    ...bank,
    origin,
    connections: 1,
    connectionWaitMs: bank.timeoutMs,
    operationShare: 1,
    slowCallMs: bank.timeoutMs,
    connectionPerCaller: false,
  });
  const results: CheckResult[] = [];
  let skipped = 0;
  write(`${row('operation', 'request', 'status', 'ms', 'verdict')}\n`);
  try {
    for (const { operation, request, only, prepare } of checks) {
      const call = prepare(prefix, ids, credentials);
      if (!('request' in call)) {
        skipped += 1;
        write(`${row(operation.id, request, '-', '-', `skipped: give ${call.join(', ')}`)}\n`);
        continue;
      }
      progress(`${operation.id} …`);
      const result = await runCheck(transport, call, bank.timeoutMs, only && ids[only]);
      results.push(result);
      const { status, milliseconds, verdict, differences } = result;
      write(`${row(operation.id, request, String(status ?? '-'), String(milliseconds), verdict)}\n`);
      for (const difference of differences) write(`    ${difference}\n`);
    }
  } finally {
    progress(null);
    await transport.close();
  }
  write(`\n${summaryOf(origin + prefix, results, skipped)}\n`);
  if (results.length === 0) return 2;
  return results.every(({ outcome }) => outcome === 'ok') ? 0 : 1;
}

function summaryOf(address: string, diagnoses: readonly CheckResult[], skipped: number): string {
  const outcomes = (['ok', 'refused', 'no answer', 'contract', 'drift'] as const).flatMap((outcome) => {
    const count = diagnoses.filter((diagnosis) => diagnosis.outcome === outcome).length;
    return count === 0 ? [] : [`${count} ${outcome}`];
  });
  const calls = `${diagnoses.length} ${diagnoses.length === 1 ? 'call' : 'calls'} to ${address}`;
  return `${[calls, outcomes.join(', ')].filter(Boolean).join(': ')}; ${skipped} skipped.`;
}
