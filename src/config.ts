import type { BankOptions } from './bank/client.ts';
import { checkCredential, credentialHeaders } from './bank/credentials.ts';
import { checkId } from './bank/path.ts';
import type { OperationLimits } from './schema/context.ts';
import { isLoopback } from './server/http-policy.ts';
import { isLogLevel, logLevels } from './server/log.ts';
import { algorithms, type IdentityOptions } from './server/identity-options.ts';
import type { LoadLimits } from './server/load.ts';
import type { RateLimit } from './server/rate-limit.ts';
import type { DocumentLimits } from './engine/document-limits.ts';

/** What a process of bankql is started with, read once from the environment. */
export interface Config {
  readonly http: { readonly host: string; readonly port: number };
  /** Null: the embedded sandbox bank. */
  readonly bank: { readonly baseUrl: string } | null;
  readonly bankLimits: Omit<BankOptions, 'baseUrl' | 'onCall' | 'onBreaker' | 'onDrift' | 'onShared'>;
  readonly operationLimits: OperationLimits;
  readonly documentLimits: DocumentLimits;
  readonly maxRequestBytes: number;
  readonly corsOrigins: ReadonlySet<string>;
  /** See HttpPolicyOptions. */
  readonly onlyLocalNames: boolean;
  readonly drainDelayMs: number;
  readonly load: LoadLimits;
  /** Null: no metrics are served. */
  readonly metricsPort: number | null;
  readonly bankId: string | null;
  readonly defaultView: string;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  /** Whose tokens say who calls; null where headers say it. */
  readonly identity: IdentityOptions | null;
  /** How many REST calls are made for a caller, and with a subscription key; null for no limit. */
  readonly rateLimits: { readonly perCaller: RateLimit | null; readonly perKey: RateLimit | null };
  /** The manifest of documents that are asked for by their ids; null for none. */
  readonly persisted: { readonly file: string; readonly only: boolean } | null;
  readonly graphiql: boolean;
  readonly introspection: boolean;
  readonly logLevel: string;
  /** A file with a level that stands in for `logLevel`; null for none. See log-level.ts. */
  readonly logLevelFile: string | null;
  readonly sandbox: {
    readonly port: number;
    readonly database: string;
    readonly latencyMs: number;
    /** What goes wrong, see sandbox/faults.ts; undefined for nothing. */
    readonly faults: string | undefined;
  };
  /** The statuses with which the bank refuses a payment; undefined: see payments/classify-response.ts. */
  readonly paymentRejectedStatuses: ReadonlySet<number> | undefined;
  /** Where payments are kept; see OpenStoreOptions in payments/open-store.ts. */
  readonly state: {
    readonly url: string;
    readonly retentionMs: number;
    readonly allowVolatile: boolean;
    readonly waitReplicas: number;
    readonly witness: string | undefined;
  };
  /** Whether /ready answers 503 while payments cannot be recorded. */
  readonly readyNeedsState: boolean;
}

/** What the process cannot start with, in one line that says what to do. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** A variable's value that the process cannot start with. The message names the variable, the value and the remedy. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError';

  constructor(variable: string, value: string | undefined, remedy: string) {
    super(`${variable}=${value ?? ''} cannot be used: ${remedy}`);
  }
}

/** The bank that the sandbox plays. */
const sandboxBankId = 'SNDBCY2N';
const day = 24 * 60 * 60 * 1000;

/**
 * Reads the environment. An empty variable counts as unset.
 * Errors: ConfigError for the first value that cannot be used.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const value = (name: string) => environment[name] || undefined;
  const integer = (name: string, fallback: number, least: number, most: number) => {
    const text = value(name);
    if (text === undefined) return fallback;
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new ConfigError(
      name,
      text,
      `give a whole number from ${least} to ${most}, or leave it out for ${fallback}.`,
    );
  };
  const flag = (name: string, fallback: boolean) => {
    const text = value(name);
    if (text === undefined) return fallback;
    if (['on', '1', 'true'].includes(text)) return true;
    if (['off', '0', 'false'].includes(text)) return false;
    throw new ConfigError(name, text, 'give on or off.');
  };
  const share = (name: string, fallback: number) => {
    const text = value(name);
    if (text === undefined) return fallback;
    const number = Number(text);
    if (/^[\d.]+$/.test(text) && number >= 0 && number <= 1) return number;
    throw new ConfigError(name, text, `give a number from 0 to 1, or leave it out for ${fallback}.`);
  };
  const limit = (name: string, fallback: number) => integer(name, fallback, 1, 1_000_000);
  const milliseconds = (name: string, fallback: number) => integer(name, fallback, 1, 600_000);

  const host = value('HOST') ?? '127.0.0.1';
  const bank = readBank(value('BANK_BASE_URL'), flag('BANK_ALLOW_HTTP', false));
  if (bank === null && value('NODE_ENV') === 'production' && !flag('SANDBOX', false)) {
    throw new ConfigError(
      'BANK_BASE_URL',
      undefined,
      "in production name the bank's address, or ask for the sandbox bank with SANDBOX=1.",
    );
  }
  const timeoutMs = milliseconds('BANK_TIMEOUT_MS', 5000);
  const connectTimeoutMs = milliseconds('BANK_CONNECT_TIMEOUT_MS', 1000);
  if (connectTimeoutMs > timeoutMs) {
    throw new ConfigError(
      'BANK_CONNECT_TIMEOUT_MS',
      String(connectTimeoutMs),
      `it has to be at most BANK_TIMEOUT_MS (${timeoutMs}).`,
    );
  }
  const paymentTimeoutMs = milliseconds('BANK_TRANSFER_TIMEOUT_MS', 15_000);
  const operationTimeoutMs = milliseconds('OPERATION_TIMEOUT_MS', 20_000);
  if (operationTimeoutMs < Math.max(timeoutMs, paymentTimeoutMs)) {
    throw new ConfigError(
      'OPERATION_TIMEOUT_MS',
      String(operationTimeoutMs),
      `it has to be at least BANK_TIMEOUT_MS (${timeoutMs}) and BANK_TRANSFER_TIMEOUT_MS (${paymentTimeoutMs}).`,
    );
  }
  const persisted = readPersisted(value('PERSISTED_DOCUMENTS'), flag('PERSISTED_ONLY', false));
  const mode = readIdentityMode(value('IDENTITY'));
  const key = readSubscriptionKey(value('BANK_SUBSCRIPTION_KEY'), mode, host);
  const logLevel = value('LOG_LEVEL') ?? 'info';
  if (!isLogLevel(logLevel))
    throw new ConfigError('LOG_LEVEL', logLevel, `give one of ${logLevels.join(', ')}.`);

  return {
    http: { host, port: integer('PORT', 4000, 0, 65535) },
    bank,
    bankLimits: {
      timeoutMs,
      connectTimeoutMs,
      paymentTimeoutMs,
      connections: integer('BANK_CONNECTIONS', 64, 1, 10_000),
      connectionWaitMs: milliseconds('BANK_CONNECTION_WAIT_MS', 250),
      retryShare: share('BANK_RETRY_SHARE', 0.1),
      breakerThreshold: share('BANK_BREAKER_THRESHOLD', 0.5),
      breakerOpenMs: milliseconds('BANK_BREAKER_OPEN_MS', 10_000),
      publicCacheTtlMs: integer('PUBLIC_CACHE_TTL_MS', 60_000, 0, day),
      maxBodyBytes: integer('BANK_MAX_BODY_BYTES', 8 * 1024 * 1024, 1, 2 ** 30),
    },
    operationLimits: {
      timeoutMs: operationTimeoutMs,
      restCalls: integer('MAX_REST_CALLS', 50, 1, 100_000),
    },
    documentLimits: {
      tokens: limit('LIMIT_TOKENS', 2000),
      depth: limit('LIMIT_DEPTH', 15),
      aliases: limit('LIMIT_ALIASES', 30),
      rootFields: limit('LIMIT_ROOT_FIELDS', 20),
      directives: limit('LIMIT_DIRECTIVES', 20),
      fields: limit('LIMIT_FIELDS', 500),
    },
    maxRequestBytes: integer('LIMIT_BODY_BYTES', 100_000, 1, 100_000_000),
    corsOrigins: readOrigins(value('CORS_ORIGINS')),
    onlyLocalNames: key !== null && mode === null,
    drainDelayMs: integer('DRAIN_DELAY_MS', 0, 0, 600_000),
    load: {
      inFlight: integer('MAX_IN_FLIGHT', 1000, 1, 1_000_000),
      inFlightPerCaller: integer('MAX_IN_FLIGHT_PER_CALLER', 100, 1, 1_000_000),
      eventLoopLagMs: milliseconds('MAX_EVENT_LOOP_LAG_MS', 500),
    },
    metricsPort: value('METRICS_PORT') === undefined ? null : integer('METRICS_PORT', 0, 0, 65535),
    bankId: readId('BANK_ID', value('BANK_ID')) ?? (bank === null ? sandboxBankId : null),
    defaultView: readId('BANK_DEFAULT_VIEW', value('BANK_DEFAULT_VIEW')) ?? 'owner',
    subscriptionKey: key,
    identity: readIdentity(mode, key, {
      IDENTITY_JWKS_URL: value('IDENTITY_JWKS_URL'),
      IDENTITY_ISSUER: value('IDENTITY_ISSUER'),
      IDENTITY_AUDIENCE: value('IDENTITY_AUDIENCE'),
      IDENTITY_ALGORITHMS: value('IDENTITY_ALGORITHMS'),
      IDENTITY_PROVIDER_CLAIM: value('IDENTITY_PROVIDER_CLAIM'),
      IDENTITY_AUTH_ID_CLAIM: value('IDENTITY_AUTH_ID_CLAIM'),
    }),
    rateLimits: {
      perCaller: readRateLimit('RATE_LIMIT', value('RATE_LIMIT')),
      perKey: readRateLimit('RATE_LIMIT_PER_KEY', value('RATE_LIMIT_PER_KEY')),
    },
    persisted,
    // It sends texts.
    graphiql: flag('GRAPHIQL', bank === null && !persisted?.only),
    introspection: flag('INTROSPECTION', bank === null),
    logLevel,
    logLevelFile: value('LOG_LEVEL_FILE') ?? null,
    paymentRejectedStatuses: readRejectedStatuses(value('BANK_PAYMENT_REJECTED_STATUSES')),
    state: {
      url: readStateUrl(value('STATE_URL'), bank),
      retentionMs: integer('IDEMPOTENCY_TTL_DAYS', 30, 1, 3650) * day,
      allowVolatile: flag('STATE_ALLOW_VOLATILE', false),
      waitReplicas: integer('STATE_WAIT_REPLICAS', 0, 0, 10),
      witness: value('STATE_WITNESS'),
    },
    readyNeedsState: flag('READY_NEEDS_STATE', false),
    sandbox: {
      port: integer('SANDBOX_PORT', 4010, 0, 65535),
      database: value('SANDBOX_DB') ?? ':memory:',
      latencyMs: integer('SANDBOX_LATENCY_MS', 0, 0, 600_000),
      faults: value('SANDBOX_FAULTS'),
    },
  };
}

/** Origins as browsers send them, separated by commas or white space. */
function readOrigins(text = ''): ReadonlySet<string> {
  const origins = text.split(/[\s,]+/).filter((origin) => origin !== '');
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin)
      throw new ConfigError(
        'CORS_ORIGINS',
        text,
        `give origins such as https://app.example; ${origin} is none.`,
      );
  }
  return new Set(origins);
}

function readBank(address: string | undefined, allowHttp: boolean): Config['bank'] {
  if (address === undefined) return null;
  const refuse = (remedy: string) => new ConfigError('BANK_BASE_URL', withoutUserinfo(address), remedy);
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw refuse('give an address such as https://bank.example.');
  if (url.username !== '' || url.password !== '') throw refuse('leave credentials out of it.');
  if (url.search !== '' || url.hash !== '') throw refuse('leave out what follows ? or #.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowHttp)
    throw refuse('use https, or accept plain http with BANK_ALLOW_HTTP=1.');
  return { baseUrl: address };
}

function readId(name: string, id: string | undefined): string | null {
  if (id === undefined) return null;
  try {
    return checkId(name, id);
  } catch (error) {
    throw new ConfigError(name, id, error instanceof Error ? error.message : 'give an id.');
  }
}

/** Who says who calls; null: the caller. */
function readIdentityMode(text: string | undefined): 'headers' | 'jwt' | null {
  if (text === undefined) return null;
  if (text === 'headers' || text === 'jwt') return text;
  throw new ConfigError(
    'IDENTITY',
    text,
    'give jwt (a verified token says who calls) or headers (a trusted proxy sets Auth-ID), or leave it out.',
  );
}

/** Whoever may name an Auth-ID could be anyone: with the operator's key that needs somebody who vouches for it. */
function readSubscriptionKey(
  key: string | undefined,
  mode: 'headers' | 'jwt' | null,
  host: string,
): string | null {
  if (key === undefined) return null;
  try {
    checkCredential(credentialHeaders.subscriptionKey, key);
  } catch {
    throw new ConfigError('BANK_SUBSCRIPTION_KEY', '…', 'it has to be up to 255 printable ASCII characters.');
  }
  if (!isLoopback(host) && mode === null) {
    throw new ConfigError(
      'IDENTITY',
      undefined,
      `with BANK_SUBSCRIPTION_KEY and HOST=${host}, whoever names an Auth-ID could be anyone: set IDENTITY=jwt where tokens say who calls, or IDENTITY=headers where a trusted proxy sets the auth headers.`,
    );
  }
  return key;
}

/** What the variables beside IDENTITY=jwt are called. */
type IdentityVariable =
  | `IDENTITY_${'JWKS_URL' | 'ISSUER' | 'AUDIENCE' | 'ALGORITHMS'}`
  | `IDENTITY_${'PROVIDER' | 'AUTH_ID'}_CLAIM`;

function readIdentity(
  mode: 'headers' | 'jwt' | null,
  key: string | null,
  given: Readonly<Record<IdentityVariable, string | undefined>>,
): IdentityOptions | null {
  if (mode !== 'jwt') {
    for (const [name, text] of Object.entries(given)) {
      if (text === undefined) continue;
      const remedy = 'it needs IDENTITY=jwt: without that no token is verified.';
      throw new ConfigError(name, withoutUserinfo(text), remedy);
    }
    return null;
  }
  const needed = (name: string, text: string | null | undefined, what: string) => {
    if (text) return text;
    throw new ConfigError(name, undefined, `IDENTITY=jwt needs ${what}.`);
  };
  const allowed = (given.IDENTITY_ALGORITHMS ?? 'RS256 ES256 PS256 EdDSA').split(/[\s,]+/).filter(Boolean);
  for (const algorithm of allowed) {
    if (!algorithms.some((known) => known === algorithm))
      throw new ConfigError(
        'IDENTITY_ALGORITHMS',
        algorithm,
        `give some of ${algorithms.join(' ')}; none and HS* are never accepted.`,
      );
  }
  return {
    subscriptionKey: needed('BANK_SUBSCRIPTION_KEY', key, "the operator's subscription key: apps hold none"),
    jwksUrl: readJwksUrl(needed('IDENTITY_JWKS_URL', given.IDENTITY_JWKS_URL, "where the issuer's keys are")),
    issuer: needed('IDENTITY_ISSUER', given.IDENTITY_ISSUER, 'the issuer of tokens, their iss'),
    audience: needed('IDENTITY_AUDIENCE', given.IDENTITY_AUDIENCE, 'whom tokens are meant for, their aud'),
    algorithms: allowed,
    providerClaim: given.IDENTITY_PROVIDER_CLAIM ?? 'iss',
    authIdClaim: given.IDENTITY_AUTH_ID_CLAIM ?? 'sub',
  };
}

function readJwksUrl(text: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (isSafe && url.username === '' && url.password === '') return text;
  throw new ConfigError(
    'IDENTITY_JWKS_URL',
    withoutUserinfo(text),
    'give an https address without credentials, such as https://login.example/.well-known/jwks.json.',
  );
}

function readRateLimit(name: string, text: string | undefined): RateLimit | null {
  if (text === undefined) return null;
  const [, calls = 0, seconds = 0] = (/^(\d{1,9})\/(\d{1,5})$/.exec(text) ?? []).map(Number);
  if (calls >= 1 && seconds >= 1 && seconds <= day / 1000) return { calls, seconds };
  throw new ConfigError(name, text, 'give REST calls per seconds, such as 300/60; a day (86400) at most.');
}

function readRejectedStatuses(text: string | undefined): ReadonlySet<number> | undefined {
  if (text === undefined) return undefined;
  const statuses = text.split(/[\s,]+/).filter((status) => status !== '');
  if (statuses.length > 0 && statuses.every((status) => /^4\d\d$/.test(status)))
    return new Set(statuses.map(Number));
  throw new ConfigError(
    'BANK_PAYMENT_REJECTED_STATUSES',
    text,
    'give statuses from 400 to 499, such as 400,401,402,403,404,405,409,413,415,422,429.',
  );
}

function readPersisted(file: string | undefined, only: boolean): Config['persisted'] {
  if (file !== undefined) return { file, only };
  if (!only) return null;
  throw new ConfigError('PERSISTED_ONLY', 'on', 'name the manifest with PERSISTED_DOCUMENTS.');
}

function readStateUrl(url: string | undefined, bank: Config['bank']): string {
  if (url !== undefined) return url;
  if (bank === null) return 'memory:';
  if (isLoopback(new URL(bank.baseUrl).hostname)) return 'sqlite:.bankql/state.db';
  throw new ConfigError(
    'STATE_URL',
    undefined,
    'say where records of payments are kept, for example sqlite:/var/lib/bankql/state.db or redis://host: without them a payment could be sent twice.',
  );
}

const withoutUserinfo = (address: string) => address.replace(/\/\/.*@/s, '//…@');
