import type { z } from 'zod';
import type { BankOptions } from '../bank/client.ts';
import { type Credentials, secretsOf } from '../bank/credentials.ts';
import { bankText, describeRedirect, isRedirectStatus } from '../bank/errors.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from '../bank/http-message.ts';
import { type PreparedCall, prepareCall } from '../bank/request.ts';
import { ErrorInSuccess } from '../bank/response.ts';
import { createTransport, limitedBy } from '../bank/transport.ts';
import { type Operation, ownName } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { counted, shorten } from '../errors.ts';
import { diffWithContract } from './contract-diff.ts';
import { credentialOptions, type DoctorIds, type DoctorOptions, type IdOption } from './doctor-options.ts';

/** An operation that changes nothing: the types prevent the doctor from calling any other. */
type ReadOperation = Operation & { readonly kind: 'read' };
type Query = ReadOperation & { readonly body: z.ZodObject };

const isRead = (operation: Operation): operation is ReadOperation => operation.kind === 'read';
const isQuery = (operation: ReadOperation): operation is Query => operation.body !== null;

/** The option for each id of a path. */
const idOptionOf: Readonly<Record<string, IdOption>> = {
  bankId: 'bank-id',
  accountId: 'account',
  viewId: 'view',
  transactionId: 'transaction',
  customerId: 'customer',
  productId: 'product',
};

/** The member of a query's body, and its option. */
const bodyOf: Readonly<Record<string, readonly [member: string, option: IdOption]>> = {
  postBranches: ['id', 'branch'],
  postProducts: ['id', 'product'],
  postMetadata: ['id', 'metadata'],
  postOtherAccounts: ['IBAN', 'iban'],
};

interface Check {
  readonly operation: ReadOperation;
  /** For the account list. */
  readonly scope?: string;
  /** The id that the record, or the only entry of a list, should have. */
  readonly ownId?: IdOption | undefined;
}

/**
 * A call of each read operation, including the POST queries; for the account list, one with each scope of the
 * specification and one with the scope for reading a single account (BANK_ACCOUNT_SCOPE).
 */
export const checksOf = (accountScope: string): readonly Check[] =>
  Object.values<Operation>(operations)
    .filter(isRead)
    .flatMap((operation): Check[] => {
      if (operation.id === 'getAccountsScope')
        return [...new Set([accountScope, 'views', 'permissions'])].map((scope) => ({
          operation,
          scope,
          ownId: scope === accountScope ? 'account' : undefined,
        }));
      const own = { getProduct: 'product', getTransaction: 'transaction' } as const;
      return [{ operation, ownId: Object.entries(own).find(([id]) => id === operation.id)?.[1] }];
    });

/** The request line, with placeholders for ids. */
const requestLine = ({ operation: { method, path }, scope }: Check): string =>
  `${method} ${scope === undefined ? path : path.replace('{scope}', scope)}`;

/** The call, ready to be sent; or the missing options. Errors: BankqlError BAD_USER_INPUT (an invalid id). */
function prepare(
  { operation, scope }: Check,
  prefix: string,
  given: DoctorIds,
  credentials: Credentials,
): PreparedCall | readonly string[] {
  const missing: string[] = [];
  const id = (option: IdOption) => {
    if (given[option] === undefined) missing.push(`--${option}`);
    return given[option] ?? '';
  };
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ownName(name));
  const ids: Record<string, string> = {};
  for (const name of names) {
    const option = idOptionOf[name];
    ids[name] = option === undefined ? (scope ?? '') : id(option);
  }
  const [member, option] = bodyOf[operation.id] ?? [];
  const body = member === undefined || option === undefined ? {} : { [member]: id(option) };
  if (operation.auth === 'required')
    for (const name of ['auth-provider', 'auth-id'] as const)
      if (credentials[credentialOptions[name].credential] === null) missing.push(`--${name}`);
  if (missing.length > 0) return missing;
  return isQuery(operation)
    ? prepareCall(prefix, operation, { ids, body, credentials })
    : prepareCall(prefix, operation, { ids, credentials });
}

/** The results of calls, in the order in which the summary counts them. */
const outcomes = ['ok', 'refused', 'no answer', 'contract', 'drift'] as const;

interface Finding {
  readonly outcome: (typeof outcomes)[number];
  readonly verdict: string;
  /** One line for each difference from the contract. */
  readonly differences?: readonly string[];
}

/** The most differences of each kind that are shown: there may be any number of unknown fields. */
const maxListLength = 20;

/** Evaluates the result of a call. Its texts contain no credentials. `id` is as in diffWithContract. */
function evaluate(call: PreparedCall, response: HttpResult, id: string | undefined): Finding {
  const refused = (why: string): Finding => ({
    outcome: 'refused',
    verdict: `refused by the bank: ${withoutCredentials(why, call)}`,
  });
  const reason = (answer: HttpResponse) =>
    bankText(answer, secretsOf(call.credentials)) || 'it does not say why';
  if (response instanceof TransportFailure) {
    const { message, cause } = response;
    // If several addresses were tried, undici's error has a code but no message.
    const said = cause instanceof Error ? cause.message || ('code' in cause ? cause.code : '') : '';
    return { outcome: 'no answer', verdict: `no answer: ${message}${said ? ` (${said})` : ''}` };
  }
  if (isRedirectStatus(response.status)) return refused(describeRedirect(call, response));
  if (response.status < 200 || response.status > 299) return refused(reason(response));
  try {
    const diff = diffWithContract(call, response, id);
    const faults = (['contract', 'drift'] as const).filter((sort) => diff[sort].length > 0);
    return {
      outcome: faults[0] ?? 'ok',
      verdict: faults.map((sort) => `${sort}: ${counted(diff[sort].length, 'place')}`).join(', ') || 'ok',
      differences: (['contract', 'drift', 'unknown'] as const).flatMap((sort) => {
        const rest = diff[sort].length - maxListLength;
        const shown = diff[sort].slice(0, maxListLength).concat(rest > 0 ? `… and ${rest} more` : []);
        return shown.map((text) => plain(`${sort.padEnd(9)} ${text}`, call));
      }),
    };
  } catch (error) {
    if (error instanceof ErrorInSuccess) return refused(reason(response));
    throw error;
  }
}

/** A line for a terminal: the bank chooses the names of unknown fields. */
const plain = (line: string, call: PreparedCall): string =>
  shorten(withoutCredentials(line, call).replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' '), 200);

const isOfWord = (character = '') => /[\p{L}\p{N}_]/u.test(character);

/** The text without the caller's credentials. A credential that is too short for `secretsOf` is replaced only as a whole word. */
function withoutCredentials(text: string, { credentials }: PreparedCall): string {
  const long = secretsOf(credentials);
  return [credentials.subscriptionKey, credentials.authProviderName, credentials.authId]
    .filter((value) => value !== null)
    .sort((a, b) => b.length - a.length)
    .reduce(
      (clean, secret) =>
        clean.replaceAll(secret, (found, at: number, whole: string) =>
          long.includes(secret) || !(isOfWord(whole[at - 1]) || isOfWord(whole[at + found.length]))
            ? '[redacted]'
            : found,
        ),
      text,
    );
}

interface DoctorContext extends DoctorOptions {
  readonly bank: Pick<BankOptions, 'baseUrl' | 'timeoutMs' | 'maxBodyBytes' | 'network'>;
  /** BANK_ACCOUNT_SCOPE. */
  readonly accountScope: string;
  /** Receives the output, line by line. */
  readonly write: (text: string) => void;
}

const widthOf = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));

/**
 * Calls every read operation for which ids are given, once and one after the other, and prints how the answers compare
 * with the contract. It cannot write: see `ReadOperation`. It prints no credentials and no values from answers, except the
 * bank's message when it refuses a call.
 * Shape:  the exit code: 0 if every call conforms, 1 if one does not, 2 if none could be made.
 * Errors: BankqlError BAD_USER_INPUT if an id cannot be sent.
 */
export async function runDoctor(context: DoctorContext): Promise<number> {
  const { bank, ids, credentials, write, accountScope } = context;
  const checks = checksOf(accountScope);
  const widths = [widthOf(checks.map(({ operation }) => operation.id)), widthOf(checks.map(requestLine))];
  const row = (operation: string, request: string, status: string, ms: string, verdict: string) =>
    write(
      `${operation.padEnd(widths[0] ?? 0)}  ${request.padEnd(widths[1] ?? 0)}  ${status.padStart(6)}  ${ms.padStart(6)}  ${verdict}\n`,
    );
  const { origin, pathname } = new URL(bank.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const transport = createTransport({ ...bank, origin, connections: 1 });
  const found: Finding['outcome'][] = [];
  row('operation', 'request', 'status', 'ms', 'verdict');
  try {
    for (const check of checks) {
      const { operation, ownId } = check;
      const call = prepare(check, prefix, ids, credentials);
      if (!('request' in call)) {
        row(operation.id, requestLine(check), '-', '-', `skipped: give ${call.join(', ')}`);
        continue;
      }
      const started = performance.now();
      const response = await transport.send(call, limitedBy(started + bank.timeoutMs));
      const ms = String(Math.round(performance.now() - started));
      const status = response instanceof TransportFailure ? '-' : String(response.status);
      const { outcome, verdict, differences = [] } = evaluate(call, response, ownId && ids[ownId]);
      found.push(outcome);
      row(operation.id, requestLine(check), status, ms, verdict);
      for (const difference of differences) write(`    ${difference}\n`);
    }
  } finally {
    await transport.close();
  }
  const counts = outcomes
    .map((outcome) => [found.filter((each) => each === outcome).length, outcome] as const)
    .flatMap(([count, outcome]) => (count === 0 ? [] : [`${count} ${outcome}`]));
  const calls = `${counted(found.length, 'call')} to ${origin + prefix}`;
  const skipped = checks.length - found.length;
  write(`\n${[calls, counts.join(', ')].filter(Boolean).join(': ')}; ${skipped} skipped.\n`);
  if (found.length === 0) return 2;
  return found.every((outcome) => outcome === 'ok') ? 0 : 1;
}
