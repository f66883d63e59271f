import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { parseExactJson, writeExactJson } from '../../src/contract/exact-json.ts';
import { type OperationId, operations } from '../../src/contract/operations.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';

export interface BankAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** The answer's JSON, with amounts as the text of their digits. */
  readonly json: unknown;
}

/** The options of a call, in addition to its ids. Headers that are null are left out. */
export interface CallOptions {
  /** The default is `alice`, or `staff` for operations that only staff may do; null for no caller. */
  readonly caller?: string | null;
  /** A value is sent as JSON, in which amounts (texts) become numbers. A text or bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | null>>;
  /** The query string, such as `?subscription-key=…`. */
  readonly query?: string;
  readonly signal?: AbortSignal;
}

type Calls<Result> = (
  id: OperationId,
  ids?: Readonly<Record<string, string>>,
  options?: CallOptions,
) => Promise<Result>;

export type Call = Calls<BankAnswer>;

/**
 * Functions that call a bank and return the answer, its records, or its only record. The records are checked against the
 * operation's shape.
 */
interface Caller {
  readonly call: Call;
  readonly recordsOf: Calls<Record<string, unknown>[]>;
  readonly recordOf: Calls<Record<string, unknown>>;
}

const callerWith = (call: Call): Caller => ({
  call,
  recordsOf: async (...args) => recordsIn(args[0], await call(...args)),
  recordOf: async (...args) => recordIn(args[0], await call(...args)),
});

/** Sends any request to a sandbox, with all headers that an operation could need from alice. */
export async function send(url: string, method: string, options: CallOptions = {}): Promise<BankAnswer> {
  const caller = options.caller === undefined ? 'alice' : options.caller;
  const all: Record<string, string | null> = {
    'Ocp-Apim-Subscription-Key': 'sandbox-key',
    'Auth-Provider-Name': caller && 'sandbox',
    'Auth-ID': caller,
    'Track-ID': randomUUID(),
    'Content-Type': options.body === undefined ? null : 'application/json',
    ...options.headers,
  };
  const headers = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [name, value]));
  const { body = null, signal = null } = options;
  const bytes =
    body === null || typeof body === 'string' || body instanceof Uint8Array ? body : writeExactJson(body);
  const answer = await request(url, { method, headers, body: bytes, signal });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    contentType: answer.headers['content-type']?.toString(),
    text,
    json: text === '' ? undefined : parseExactJson(text),
  };
}

/** Calls operations by their ids. The defaults are the bank SNDBCY2N and the view `owner`. */
export function callerOf(baseUrl: string): Call {
  return (id, ids = {}, options = {}) => {
    const all: Readonly<Record<string, string>> = { BANK_ID: 'SNDBCY2N', VIEW_ID: 'owner', ...ids };
    const path = operations[id].path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(all[name] ?? ''),
    );
    const who = id === 'putBranchID' || id === 'putProduct' ? { caller: 'staff' } : {};
    return send(`${baseUrl}${path}${options.query ?? ''}`, operations[id].method, { ...who, ...options });
  };
}

/** A new sandbox with the seed's data, and functions that call it. */
export async function freshBank(options: Partial<SandboxOptions> = {}): Promise<Sandbox & Caller> {
  const sandbox = await startSandbox({ port: 0, ...options });
  return { ...sandbox, ...callerWith(callerOf(sandbox.url)) };
}

type Hook = (run: () => Promise<void>) => void;

const bankFor = (before: Hook, after: Hook) => () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await freshBank();
  });
  after(() => sandbox.close());
  return { ...callerWith((...args) => callerOf(sandbox.url)(...args)), url: () => sandbox.url };
};

/** A sandbox that all tests of the calling file or block share. */
export const bankForAll = bankFor(beforeAll, afterAll);
/** A new sandbox for each test. */
export const bankForEach = bankFor(beforeEach, afterEach);

/** The body of a payment in euros to this account. */
export const payTo = (account_id: string, amount = '1') => ({
  from: {},
  to: { account_id },
  value: { currency: 'EUR', amount },
});

/** The records of an answer, checked against the operation's shape: the list, or a single record. */
export function recordsIn(id: OperationId, answer: BankAnswer): Record<string, unknown>[] {
  if (answer.status !== 200) throw new Error(`${id}: ${answer.status} ${answer.text}`);
  const { envelope, answer: shape } = operations[id];
  if (!shape) throw new Error(`${id} has no shape`);
  const content = envelope === null ? [answer.json] : Object(answer.json)[envelope];
  return shape.strict().array().parse(content);
}

/** The one record of an answer. */
export function recordIn(id: OperationId, answer: BankAnswer): Record<string, unknown> {
  const [record, ...more] = recordsIn(id, answer);
  if (!record || more.length > 0) throw new Error(`${id}: not one record`);
  return record;
}

/** The exact balance of an account that the caller owns. */
export async function balanceOf(call: Call, accountId: string, caller = 'alice'): Promise<string> {
  const ids = { ACCOUNT_ID: accountId, scope: 'views' };
  const account = recordIn('getAccountsScope', await call('getAccountsScope', ids, { caller }));
  return String(Object(account.balance).amount);
}

/** An amount in euros, converted to cents. */
export const cents = (amount: string): bigint => BigInt(amount.replace('.', ''));

/** An amount plus this number of cents, in the bank's form. */
export const plus = (amount: string, more: bigint): string =>
  String(cents(amount) + more).replace(/(?=..$)/, '.');
