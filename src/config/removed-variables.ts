import { fixedText, type LimitName } from '../load/limits.ts';

const fixed = (name: LimitName) => `fixed now: ${fixedText(name)}.`;
const explore = 'EXPLORE=on or off decides on GraphiQL, introspection and x-bankql-explain together.';

/** The settings of earlier versions, each with its replacement or fixed value. */
const remedies: Readonly<Record<string, string>> = {
  APQ: 'clients send texts, or ids of PERSISTED_DOCUMENTS; automatic persisted queries fall back to texts.',
  BANK_BREAKER_OPEN_MS: 'an open breaker lets a trial call through after 10 s.',
  BANK_BREAKER_THRESHOLD: fixed('breakerShare'),
  BANK_CONNECTION_MAX_AGE_MS: 'a kept connection is replaced after a minute.',
  BANK_CONNECTION_PER_CALLER:
    'for a bank that mixes up the answers on one connection, set BANK_KEEP_ALIVE=off.',
  BANK_CONNECTION_WAIT_MS: 'a call waits for its turn until its deadline.',
  BANK_CONNECT_TIMEOUT_MS: 'connecting takes a second at most.',
  BANK_MAX_BODY_BYTES: fixed('bankAnswerBytes'),
  BANK_OPERATION_SHARE: 'one bank operation has at most three quarters of BANK_CONNECTIONS.',
  BANK_PAYMENT_REJECTED_STATUSES:
    'the whole answer decides; list its words, codes or texts in BANK_PAYMENT_REJECTED.',
  BANK_PAYMENT_REJECTED_WORDS: 'its name is BANK_PAYMENT_REJECTED.',
  BANK_RETRY_SHARE: 'a tenth of the reads may be sent again.',
  BANK_SLOW_CALL_MS: 'a call is slow after 80 % of its deadline.',
  BANK_TRACEPARENT: 'the bank gets no traceparent; its Track-ID is in the span of each call.',
  COMPRESSION: 'answers are not compressed; a proxy in front can do it (SECURITY.md says when).',
  CORS_HEADERS: 'pages of the origins in CORS_ORIGINS may send any header.',
  EXPLAIN: explore,
  FEDERATION: 'a gateway uses the schema as a plain subgraph or subschema (docs/clients.md).',
  GRAPHIQL: explore,
  IDENTITY_ALGORITHMS: 'every algorithm with public keys is accepted; none and HS… never are.',
  IDENTITY_AUTH_ID_CLAIM: 'it is the second word of IDENTITY_CLAIMS, such as IDENTITY_CLAIMS=iss sub.',
  IDENTITY_PROVIDER_CLAIM: 'it is the first word of IDENTITY_CLAIMS, such as IDENTITY_CLAIMS=iss sub.',
  INTROSPECTION: explore,
  LIMIT_ALIASES: fixed('queryAliases'),
  LIMIT_ANSWER_BYTES: fixed('answerBytes'),
  LIMIT_ANSWER_VALUES: fixed('answerValues'),
  LIMIT_BODY_BYTES: fixed('requestBytes'),
  LIMIT_DEPTH: fixed('queryDepth'),
  LIMIT_DIRECTIVES: fixed('queryDirectives'),
  LIMIT_FIELDS: fixed('queryFields'),
  LIMIT_ROOT_FIELDS: fixed('queryRootFields'),
  LIMIT_TOKENS: fixed('queryTokens'),
  LIMIT_UNREAD_BYTES: fixed('unreadBytes'),
  LIMIT_UNREAD_MS: fixed('unreadMs'),
  LOG_LEVEL_FILE: 'set LOG_LEVEL and restart.',
  LOG_SAMPLE: 'every operation is logged; drop lines in the collector.',
  LOG_TIME: 'times in the log are milliseconds since 1970.',
  MAX_EVENT_LOOP_LAG_MS: 'the number of requests in progress is bounded, however late they are.',
  MAX_IN_FLIGHT: fixed('requests'),
  MAX_IN_FLIGHT_PER_CALLER: fixed('requestsPerCaller'),
  METRICS_HOST: 'metrics are at the address of HOST; a firewall decides who reads them.',
  METRICS_OPERATION_NAMES: 'metrics name the operations of PERSISTED_DOCUMENTS.',
  OPERATION_TIMEOUT_MS: fixed('operationMs'),
  PRIVATE_CACHE_MS: 'answers of a caller are shared while they are read, and not kept.',
  PUBLIC_CACHE_TTL_MS: fixed('publicCacheMs'),
  RATE_LIMIT_PER_KEY: 'RATE_LIMIT holds for each caller; a gateway in front can limit a whole app.',
  RATE_LIMIT_URL:
    'calls are counted in memory now; for several replicas, divide RATE_LIMIT by their number, or limit in the proxy.',
  READY_NEEDS_ROOM: 'requests beyond what fits are answered 503, and /ready goes on answering 200.',
  READY_NEEDS_STATE: 'reads are served without the payment store, and /ready answers 200; an alert says it.',
  SANDBOX: 'the sandbox bank starts unless NODE_ENV is production.',
  SANDBOX_DB: 'the sandbox bank keeps its data in memory.',
  SANDBOX_FAULTS: 'set faults while the sandbox bank runs, by PUT /sandbox/faults.',
  SANDBOX_LATENCY_MS: 'set it while the sandbox bank runs: PUT /sandbox/faults {"*": {"latency": 300}}.',
  SANDBOX_NOW: 'use the option of the command: bankql sandbox --now TIME.',
  SANDBOX_SCENARIO: 'the sandbox bank always starts with its five customers.',
  SCHEMA:
    'the whole schema is served; the bank refuses what a customer may not do, and PERSISTED_ONLY accepts only documents of an app.',
  STATE_WAIT_REPLICAS: 'synchronous_standby_names of PostgreSQL decides how many standbys confirm a payment.',
  STATE_WITNESS:
    'nothing keeps marks of the payment store any more; docs/operate.md says which losses are noticed.',
};

/** The replacement of an earlier version's setting, or of its `_FILE` variable; null for any other name. */
export function insteadOf(name: string): string | null {
  const setting = Object.hasOwn(remedies, name) ? name : name.replace(/_FILE$/, '');
  return Object.hasOwn(remedies, setting) ? `this setting left: ${remedies[setting]}` : null;
}
