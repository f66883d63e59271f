import type { BankOptions } from '../bank/client.ts';
import { type Credentials, secretsOf } from '../bank/credentials.ts';
import { bankText, describeRedirect, isRedirectStatus } from '../bank/errors.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from '../bank/http-message.ts';
import { type CallInput, type PreparedCall, prepareCall } from '../bank/request.ts';
import { ErrorInSuccess } from '../bank/response.ts';
import { createTransport, limitedBy } from '../bank/transport.ts';
import { type Operation, ownName } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { counted, shorten } from '../errors.ts';
import { type ContractDiff, diffWithContract } from './contract-diff.ts';
import { credentialOptions, type DoctorIds, type DoctorOptions, type IdOption } from './doctor-options.ts';

/** An operation that changes nothing: the types prevent the doctor from calling any other. */
type ReadOperation = Operation & { readonly kind: 'read' };

interface Check {
  readonly operation: ReadOperation;
  /** The request line, with placeholders for ids. */
  readonly request: string;
  /** The id that the record, or the only entry of a list, should have. */
  readonly ownId?: IdOption;
  /**
   * The call, ready to be sent; or the missing options.
   * Errors: BankqlError BAD_USER_INPUT (an invalid id).
   */
  prepare(prefix: string, ids: DoctorIds, credentials: Credentials): PreparedCall | readonly string[];
}

function check<T extends ReadOperation>(
  operation: T,
  input: (id: (option: IdOption) => string) => Omit<CallInput<T>, 'credentials'>,
): Check {
  const fixed = new Map<string, string>(Object.entries(input(() => '').ids));
  return {
    operation,
    request: `${operation.method} ${operation.path.replaceAll(/\{(\w+)\}/g, (name, key) => fixed.get(ownName(key)) || name)}`,
    prepare(prefix, ids, credentials) {
      const missing: string[] = [];
      const content = input((option) => {
        const id = ids[option];
        if (id === undefined) missing.push(`--${option}`);
        return id ?? '';
      });
      if (operation.auth === 'required') {
        for (const option of ['auth-provider', 'auth-id'] as const) {
          if (credentials[credentialOptions[option].credential] === null) missing.push(`--${option}`);
        }
      }
      return missing.length > 0 ? missing : prepareCall(prefix, operation, { ...content, credentials });
    },
  };
}

type Id = (option: IdOption) => string;
const inBank = (id: Id) => ({ bankId: id('bank-id') });
const inView = (id: Id) => ({ ...inBank(id), accountId: id('account'), viewId: id('view') });

const accountList = (scope: string): Check =>
  check(operations.getAccountsScope, (id) => ({ ids: { ...inView(id), scope } }));

/**
 * A call of each read operation, including the POST queries; for the account list, one with each scope of the
 * specification and one with the scope for reading a single account (BANK_ACCOUNT_SCOPE).
 */
export const checksOf = (accountScope: string): readonly Check[] => [
  check(operations.getBranches, (id) => ({ ids: inBank(id) })),
  check(operations.postBranches, (id) => ({ ids: inBank(id), body: { id: id('branch') } })),
  {
    ...check(operations.getProduct, (id) => ({ ids: { ...inBank(id), productId: id('product') } })),
    ownId: 'product',
  },
  check(operations.postProducts, (id) => ({ ids: inBank(id), body: { id: id('product') } })),
  check(operations.postMetadata, (id) => ({ ids: {}, body: { id: id('metadata') } })),
  check(operations.getCustomer, (id) => ({ ids: { ...inBank(id), customerId: id('customer') } })),
  check(operations.getMessagesOwner, (id) => ({ ids: inBank(id) })),
  ...[...new Set([accountScope, 'views', 'permissions'])].map((scope) =>
    scope === accountScope ? { ...accountList(scope), ownId: 'account' as const } : accountList(scope),
  ),
  check(operations.getOtherAccounts, (id) => ({ ids: inView(id) })),
  check(operations.postOtherAccounts, (id) => ({ ids: inView(id), body: { IBAN: id('iban') } })),
  {
    ...check(operations.getTransaction, (id) => ({
      ids: { ...inView(id), transactionId: id('transaction') },
    })),
    ownId: 'transaction',
  },
  check(operations.getTransactionsRequest, (id) => ({ ids: inView(id) })),
];

/** What became of a call; the summary counts them in this order. */
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
  if (response instanceof TransportFailure) {
    const { message, cause } = response;
    // If several addresses were tried, undici's error has a code but no message.
    const said = cause instanceof Error ? cause.message || ('code' in cause ? cause.code : '') : '';
    return { outcome: 'no answer', verdict: `no answer: ${message}${said ? ` (${said})` : ''}` };
  }
  if (isRedirectStatus(response.status))
    return refused(withoutCredentials(describeRedirect(call, response), call));
  if (response.status < 200 || response.status > 299) return refused(whyRefused(call, response));
  let diff: ContractDiff;
  try {
    diff = diffWithContract(call, response, id);
  } catch (error) {
    if (error instanceof ErrorInSuccess) return refused(whyRefused(call, response));
    throw error;
  }
  const differences = (['contract', 'drift', 'unknown'] as const).flatMap((sort) =>
    listDifferences(sort, diff[sort]),
  );
  const faults = (['contract', 'drift'] as const).filter((sort) => diff[sort].length > 0);
  const verdict = faults.map((sort) => `${sort}: ${counted(diff[sort].length, 'place')}`).join(', ') || 'ok';
  return {
    outcome: faults[0] ?? 'ok',
    verdict,
    differences: differences.map((line) => plain(line, call)),
  };
}

const refused = (why: string): Finding => ({ outcome: 'refused', verdict: `refused by the bank: ${why}` });

const whyRefused = (call: PreparedCall, response: HttpResponse): string =>
  withoutCredentials(bankText(response, secretsOf(call.credentials)), call) || 'it does not say why';

function listDifferences(sort: string, found: readonly string[]): string[] {
  const shown = found.slice(0, maxListLength).map((text) => `${sort.padEnd(9)} ${text}`);
  const rest = found.length - shown.length;
  return rest === 0 ? shown : [...shown, `${sort.padEnd(9)} … and ${rest} more`];
}

/** A line for a terminal: unknown field names are whatever the bank sends. */
const plain = (line: string, call: PreparedCall): string =>
  shorten(withoutCredentials(line, call).replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' '), 200);

const isOfWord = (character = '') => /[\p{L}\p{N}_]/u.test(character);

/** The text without the caller's credentials. One that is too short for `secretsOf` is chance within a longer word, and stays. */
function withoutCredentials(text: string, { credentials }: PreparedCall): string {
  const long = secretsOf(credentials);
  const all = [credentials.subscriptionKey, credentials.authProviderName, credentials.authId];
  return all
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
  /** Is told which call is under way, and null when none is any more. */
  readonly progress: (activity: string | null) => void;
}

const widthOf = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));

/** Writes a line of the table: operation, request, status, milliseconds, verdict. */
function rowsFor(checks: readonly Check[]) {
  const operations = widthOf(checks.map(({ operation }) => operation.id));
  const requests = widthOf(checks.map(({ request }) => request));
  return (operation: string, request: string, status: string, milliseconds: string, verdict: string) => {
    const figures = [status.padStart(6), milliseconds.padStart(6)];
    return [operation.padEnd(operations), request.padEnd(requests), ...figures, verdict].join('  ');
  };
}

/**
 * Calls every read operation for which ids are given, once and one after the other, and prints how the answers compare
 * with the contract. It cannot write: see `ReadOperation`. It prints no credentials and no values from answers, except the
 * bank's message when it refuses a call.
 * Shape:  the exit code: 0 if every call conforms, 1 if one does not, 2 if none could be made.
 * Errors: BankqlError BAD_USER_INPUT if an id cannot be sent.
 */
export async function runDoctor({
  bank,
  ids,
  credentials,
  write,
  progress,
  accountScope,
}: DoctorContext): Promise<number> {
  const checks = checksOf(accountScope);
  const row = rowsFor(checks);
  const { origin, pathname } = new URL(bank.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const transport = createTransport({
    ...bank,
    origin,
    connections: 1,
  });
  const found: Finding['outcome'][] = [];
  let skipped = 0;
  write(`${row('operation', 'request', 'status', 'ms', 'verdict')}\n`);
  try {
    for (const { operation, request, ownId, prepare } of checks) {
      const call = prepare(prefix, ids, credentials);
      if (!('request' in call)) {
        skipped += 1;
        write(`${row(operation.id, request, '-', '-', `skipped: give ${call.join(', ')}`)}\n`);
        continue;
      }
      progress(`${operation.id} …`);
      const started = performance.now();
      const response = await transport.send(call, limitedBy(started + bank.timeoutMs));
      const milliseconds = String(Math.round(performance.now() - started));
      const status = response instanceof TransportFailure ? '-' : String(response.status);
      const { outcome, verdict, differences = [] } = evaluate(call, response, ownId && ids[ownId]);
      found.push(outcome);
      write(`${row(operation.id, request, status, milliseconds, verdict)}\n`);
      for (const difference of differences) write(`    ${difference}\n`);
    }
  } finally {
    progress(null);
    await transport.close();
  }
  const counts = outcomes.flatMap((outcome) => {
    const count = found.filter((each) => each === outcome).length;
    return count === 0 ? [] : [`${count} ${outcome}`];
  });
  const calls = `${counted(found.length, 'call')} to ${origin + prefix}`;
  write(`\n${[calls, counts.join(', ')].filter(Boolean).join(': ')}; ${skipped} skipped.\n`);
  if (found.length === 0) return 2;
  return found.every((outcome) => outcome === 'ok') ? 0 : 1;
}
