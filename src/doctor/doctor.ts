import type { z } from 'zod';
import type { Call } from '../bank/call.ts';
import { type BankClient, type BankOptions, createBankClient } from '../bank/client.ts';
import { secretsOf } from '../bank/credentials.ts';
import { bankText, redact } from '../bank/errors.ts';
import { type HttpResult, TransportFailure } from '../bank/http-message.ts';
import { reportOf } from '../bank/report.ts';
import { ErrorInSuccess } from '../bank/tolerance.ts';
import { type Operation, ownName } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { counted } from '../errors.ts';
import { diffWithContract } from './contract-diff.ts';
import { credentialOptions, type DoctorOptions, type IdOption } from './doctor-options.ts';

/** An operation that changes nothing. This type prevents the doctor from calling any other operation. */
type ReadOperation = Operation & { readonly kind: 'read' };

const isRead = (operation: Operation): operation is ReadOperation => operation.kind === 'read';
const hasBody = (operation: Operation): operation is Operation & { readonly body: z.ZodObject } =>
  operation.body !== null;

/** The option for each id of a path. */
const idOptionOf: Readonly<Record<string, IdOption>> = {
  bankId: 'bank-id',
  accountId: 'account',
  viewId: 'view',
  transactionId: 'transaction',
  customerId: 'customer',
  productId: 'product',
};

/** For each POST query: the member of its body, and the option that provides the member's value. */
const bodyOf: Readonly<Record<string, readonly [member: string, option: IdOption]>> = {
  postBranches: ['id', 'branch'],
  postProducts: ['id', 'product'],
  postMetadata: ['id', 'metadata'],
  postOtherAccounts: ['IBAN', 'iban'],
};

interface Check {
  readonly operation: ReadOperation;
  /** The request line, with placeholders for ids. */
  readonly line: string;
  /** The scope of a call of the account list. */
  readonly scope?: string;
  /** The id that the record, or the only entry of a list, should have. */
  readonly ownId?: IdOption | undefined;
}

const ownIdOf: Readonly<Record<string, IdOption>> = { getProduct: 'product', getTransaction: 'transaction' };

/**
 * The calls of the doctor: each read operation, including the POST queries. The account list is called with each scope of the
 * specification, and with the scope for reading a single account (BANK_ACCOUNT_SCOPE).
 */
export const checksOf = (accountScope: string): readonly Check[] =>
  Object.values<Operation>(operations)
    .filter(isRead)
    .flatMap((operation): Check[] => {
      const line = `${operation.method} ${operation.path}`;
      if (operation.id !== 'getAccountsScope') return [{ operation, line, ownId: ownIdOf[operation.id] }];
      return [...new Set([accountScope, 'views', 'permissions'])].map((scope) => ({
        operation,
        line: line.replace('{scope}', scope),
        scope,
        ownId: scope === accountScope ? 'account' : undefined,
      }));
    });

/** The call, ready to be sent. If options are missing, their names. Errors: BankqlError BAD_USER_INPUT (an invalid id). */
function prepare(
  { operation, scope = '' }: Check,
  client: BankClient,
  { ids: given, credentials }: DoctorOptions,
): Call | readonly string[] {
  const missing: string[] = [];
  const id = (option: IdOption) => {
    if (given[option] === undefined) missing.push(`--${option}`);
    return given[option] ?? '';
  };
  const ids: Record<string, string> = {};
  for (const [, name = ''] of operation.path.matchAll(/\{(\w+)\}/g)) {
    const option = idOptionOf[ownName(name)];
    ids[ownName(name)] = option === undefined ? scope : id(option);
  }
  const [member, option] = bodyOf[operation.id] ?? [];
  const body = member === undefined || option === undefined ? {} : { [member]: id(option) };
  if (operation.auth === 'required')
    for (const name of ['auth-provider', 'auth-id'] as const)
      if (credentials[credentialOptions[name].credential] === null) missing.push(`--${name}`);
  if (missing.length > 0) return missing;
  return hasBody(operation)
    ? client.prepare(operation, { ids, body, credentials })
    : client.prepare(operation, { ids, credentials });
}

/** The results of calls, in the order of the summary. */
const outcomes = ['ok', 'refused', 'no answer', 'contract', 'drift'] as const;

interface Finding {
  readonly outcome: (typeof outcomes)[number];
  readonly verdict: string;
  /** One line for each difference from the contract. */
  readonly differences?: readonly string[];
}

/** The maximum number of differences of each kind that are shown, because an answer may have any number of unknown fields. */
const maxListLength = 20;

/**
 * Evaluates the result of a call. Its texts contain no credentials, except those that are too short for `secretsOf`. `id`: as
 * for diffWithContract.
 */
function evaluate(call: Call, response: HttpResult, id: string | undefined): Finding {
  const { failure } = reportOf(call, response, 0, null);
  if (response instanceof TransportFailure) return { outcome: 'no answer', verdict: `no answer: ${failure}` };
  const secrets = secretsOf(call.credentials);
  const refused = (why: string | null): Finding => ({
    outcome: 'refused',
    verdict: `refused by the bank: ${why ?? (bankText(response, secrets) || 'it does not say why')}`,
  });
  if (response.status < 200 || response.status > 299) return refused(failure);
  try {
    const diff = diffWithContract(call, response, id);
    const faults = (['contract', 'drift'] as const).filter((sort) => diff[sort].length > 0);
    return {
      outcome: faults[0] ?? 'ok',
      verdict: faults.map((sort) => `${sort}: ${counted(diff[sort].length, 'place')}`).join(', ') || 'ok',
      differences: (['contract', 'drift', 'unknown'] as const).flatMap((sort) => {
        const rest = diff[sort].length - maxListLength;
        const shown = diff[sort].slice(0, maxListLength).concat(rest > 0 ? `… and ${rest} more` : []);
        // Escaped for printing, because the bank chooses the names of unknown fields.
        return shown.map((text) =>
          redact(`${sort.padEnd(9)} ${text}`.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' '), secrets, 200),
        );
      }),
    };
  } catch (error) {
    if (error instanceof ErrorInSuccess) return refused(null);
    throw error;
  }
}

interface DoctorContext extends DoctorOptions {
  readonly bank: Pick<BankOptions, 'baseUrl' | 'timeoutMs' | 'maxBodyBytes' | 'network'>;
  /** BANK_ACCOUNT_SCOPE. */
  readonly accountScope: string;
  /** Receives the output, line by line. */
  readonly write: (text: string) => void;
}

/**
 * Calls every read operation for which ids are given, once and one after the other, and prints how the answers compare
 * with the contract. It cannot write: see `ReadOperation`. It prints no credentials of four characters or more and no values from answers, except the
 * bank's message when it refuses a call.
 * Shape:  the exit code: 0 if every call conforms, 1 if one does not, 2 if none could be made.
 * Errors: BankqlError BAD_USER_INPUT if an id cannot be sent.
 */
export async function runDoctor({ bank, accountScope, write, ...options }: DoctorContext): Promise<number> {
  const checks = checksOf(accountScope);
  const idWidth = Math.max(...checks.map(({ operation }) => operation.id.length));
  const lineWidth = Math.max(...checks.map(({ line }) => line.length));
  const row = (id: string, line: string, status: string, ms: string, verdict: string) =>
    write(
      `${id.padEnd(idWidth)}  ${line.padEnd(lineWidth)}  ${status.padStart(6)}  ${ms.padStart(6)}  ${verdict}\n`,
    );
  const client = createBankClient({
    ...bank,
    connections: 1,
    paymentTimeoutMs: 0,
    breakerThreshold: 0,
    publicCacheTtlMs: 0,
    publicCacheBytes: 0,
  });
  const found: Finding['outcome'][] = [];
  row('operation', 'request', 'status', 'ms', 'verdict');
  try {
    for (const check of checks) {
      const { operation, line, ownId } = check;
      const call = prepare(check, client, options);
      if (!('request' in call)) {
        row(operation.id, line, '-', '-', `skipped: give ${call.join(', ')}`);
        continue;
      }
      const started = performance.now();
      const response = await client.send(call).catch((error: unknown) => {
        if (error instanceof TransportFailure) return error;
        throw error;
      });
      const ms = String(Math.round(performance.now() - started));
      const status = response instanceof TransportFailure ? '-' : String(response.status);
      const { outcome, verdict, differences = [] } = evaluate(call, response, ownId && options.ids[ownId]);
      found.push(outcome);
      row(operation.id, line, status, ms, verdict);
      for (const difference of differences) write(`    ${difference}\n`);
    }
  } finally {
    await client.close();
  }
  const { origin, pathname } = new URL(bank.baseUrl);
  const counts = outcomes
    .map((outcome) => [found.filter((each) => each === outcome).length, outcome] as const)
    .flatMap(([count, outcome]) => (count === 0 ? [] : [`${count} ${outcome}`]));
  const calls = `${counted(found.length, 'call')} to ${origin + pathname.replace(/\/+$/, '')}`;
  const skipped = checks.length - found.length;
  write(`\n${[calls, counts.join(', ')].filter(Boolean).join(': ')}; ${skipped} skipped.\n`);
  if (found.length === 0) return 2;
  return found.every((outcome) => outcome === 'ok') ? 0 : 1;
}
