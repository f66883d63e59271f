import type { Plugin } from 'graphql-yoga';
import { pino } from 'pino';
import { request } from 'undici';
import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { authenticateByToken } from '../../src/http/auth/jwt.ts';
import type { JwtOptions, TokenRefusal } from '../../src/http/auth/jwt-options.ts';
import { NodeExchange } from '../../src/http/exchange.ts';
import { createHandle, type HandleOptions } from '../../src/http/handle.ts';
import { type Listening, listen } from '../../src/http/listen.ts';
import type { RateLimiter } from '../../src/load/rate-limit.ts';
import type { AuditEntry } from '../../src/payments/audit.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { logOptions } from '../../src/telemetry/log.ts';
import type { TypedDocumentString } from '../generated/graphql.ts';
import { credentials, postOf } from './requests.ts';

export { credentials };

/** The result of a GraphQL operation. */
export interface Result<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions: Readonly<Record<string, unknown>> & { readonly code: string };
  }[];
}

type Ask = <Data, Variables>(
  document: TypedDocumentString<Data, Variables> | string,
  variables?: Variables,
  headers?: Readonly<Record<string, string>>,
) => Promise<Result<Data>>;

export interface TestBankql extends AsyncDisposable {
  /** Runs an operation through the whole server, over a socket. */
  readonly ask: Ask;
  /** The server as a Fetch handler, for tests about HTTP. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Lines of the audit log so far. */
  readonly audit: AuditEntry[];
  /** Lines of the log so far, as JSON text. */
  readonly log: string[];
}

export interface TestOptions extends Partial<Omit<HandleOptions, 'bank' | 'logger'>> {
  readonly bankUrl: string;
  readonly store?: PaymentStore;
  readonly bankOptions?: Partial<Omit<BankOptions, 'baseUrl'>>;
  readonly now?: () => number;
  /** The options for tokens; without them, headers identify callers. */
  readonly identity?: JwtOptions;
  readonly onTokenRefusal?: (why: TokenRefusal) => void;
  readonly rateLimiter?: RateLimiter | null;
}

/**
 * The default options of every bank client in the tests. If a test is not about a deadline, deadlines are longer than any machine
 * needs.
 */
export const bankDefaults: Omit<BankOptions, 'baseUrl'> = {
  timeoutMs: 60_000,
  paymentTimeoutMs: 60_000,
  connectTimeoutMs: 60_000,
  connections: 64,
  maxBodyBytes: 1024 * 1024,
  // No second attempts, unless the test is about them.
  retryShare: 0,
  breakerThreshold: 0,
  publicCacheTtlMs: 0,
  publicCacheBytes: 32 * 1024 * 1024,
};

/** The lease of a payment of createTestBankql. */
export const testLeaseMs = bankDefaults.paymentTimeoutMs + 10_000;

/** A holder that counts nothing, for a request in a process with enough capacity. */
export const createTestHolder = () => ({
  isMutation: false,
  isAbandoned: false,
  signal: new AbortController().signal,
  takeValues: () => true,
  reserveRoom: () => true,
});

/** A bank whose answers are frozen. Reads share them (shared-reads.ts), so a change would affect other readers. */
const frozenAnswers = (bank: BankClient): BankClient => ({
  ...bank,
  reads: {
    async read(call, limits, wanted) {
      const read = await bank.reads.read(call, limits, wanted as 'result');
      freeze(read);
      return read;
    },
  },
});

/** Errors within an answer are not frozen, because they are created for one answer. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Error || Object.isFrozen(value)) return;
  for (const member of Object.values(Object.freeze(value))) freeze(member);
}

/** A listener as a Fetch handler. Each request is sent over a socket, whatever host its URL has. */
function overSocket(listener: Parameters<typeof listen>[2]) {
  let opening: Promise<Listening> | null = null;
  // A busy machine must not count as a slow client.
  const open = () => (opening ??= listen('127.0.0.1', 0, listener, { slowestRequestMs: 600_000 }));
  return {
    /** Posts to /graphql. It takes half the time of `fetch`, for tests that send thousands of requests. */
    async post(body: object, headers: Readonly<Record<string, string>>): Promise<string> {
      const { url } = await open();
      const options = { ...postOf(body, { Accept: '*/*', ...headers }), method: 'POST' } as const;
      const answer = await request(`${url}/graphql`, options);
      return answer.body.text();
    },
    async fetch(request: Request): Promise<Response> {
      const { url } = await open();
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(`${url}${pathname}${search}`, request));
    },
    async close(): Promise<void> {
      await (await opening)?.close();
    },
  };
}

/** Plugins for every bankql of a test file. */
export const pluginsOfAll: Plugin[] = [];

/** The parts of bankql in front of a bank, connected as in main.ts, with the bank `BANK` and the view `owner`. */
export async function testOptions({
  bankUrl,
  store,
  bankOptions,
  now,
  identity,
  onTokenRefusal,
  rateLimiter = null,
  ...options
}: TestOptions) {
  const log: string[] = [];
  const audit: AuditEntry[] = [];
  const logger = pino(logOptions('trace'), { write: (line: string) => void log.push(line) });
  const bank = frozenAnswers(
    createBankClient({
      baseUrl: bankUrl,
      ...bankDefaults,
      onCall: (call) => logger.debug(call, 'bank call'),
      rateLimiter,
      ...bankOptions,
    }),
  );
  const payments = createPaymentService({
    bank,
    store: store ?? createMemoryStore({ retentionMs: 86_400_000, ...(now && { now }) }),
    leaseMs: testLeaseMs,
    sendTimeoutMs: bankDefaults.paymentTimeoutMs,
    audit: (entry) => void audit.push(entry),
    ...(now === undefined ? {} : { now }),
  });
  return {
    bank,
    payments,
    defaults: { bankId: 'BANK', viewId: 'owner' },
    limits: { timeoutMs: 120_000, restCalls: 1000 },
    documentCacheBytes: 64 * 1024 * 1024,
    answerLimits: { values: 100_000, bytes: 16 * 1024 * 1024 },
    documentLimits: { tokens: 2000, depth: 15, aliases: 30, rootFields: 50, directives: 20, fields: 500 },
    maxRequestBytes: 100_000,
    http: { corsOrigins: new Set<string>(), onlyLocalNames: false },
    introspection: true,
    authenticate:
      identity === undefined
        ? authenticateByHeaders(null)
        : authenticateByToken(identity, logger, onTokenRefusal),
    ...options,
    plugins: [...pluginsOfAll, ...(options.plugins ?? [])],
    logger,
    log,
    audit,
  };
}

/** bankql in front of a bank, in this process. */
export async function createTestBankql(testing: TestOptions): Promise<TestBankql> {
  const options = await testOptions(testing);
  const { bank, log, audit } = options;
  const { handle } = createHandle(options);
  const { post, fetch, close } = overSocket((request, response, holder) => {
    void handle(new NodeExchange(request, response, holder));
  });
  const ask: Ask = async (document, variables, headers = credentials) => {
    return JSON.parse(await post({ query: String(document), variables }, headers));
  };
  return {
    ask,
    fetch,
    audit,
    log,
    async [Symbol.asyncDispose]() {
      await close();
      await bank.close();
    },
  };
}
