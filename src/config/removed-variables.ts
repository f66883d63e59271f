import { fixedText, type LimitName } from '../load/fixed-limits.ts';

const fixed = (name: LimitName) => `fixed now: ${fixedText(name)}.`;
const explore = 'EXPLORE=on or off decides on GraphiQL, introspection and x-bankql-explain together.';

/**
 * The settings of earlier versions, each with its replacement or fixed value. Names with a prefix of bankql's are not listed,
 * because every unknown one is refused anyway.
 */
const remedies: Readonly<Record<string, string>> = {
  APQ: 'clients send texts, or ids of PERSISTED_DOCUMENTS; automatic persisted queries fall back to texts.',
  COMPRESSION: 'answers are not compressed; a proxy in front can do it (SECURITY.md says when).',
  CORS_HEADERS: 'pages of the origins in CORS_ORIGINS may send any header.',
  EXPLAIN: explore,
  FEDERATION: 'a gateway uses the schema as a plain subgraph or subschema (docs/clients.md).',
  GRAPHIQL: explore,
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
  READY_NEEDS_ROOM: 'requests beyond what fits are answered 503, and /ready goes on answering 200.',
  READY_NEEDS_STATE: 'reads are served without the payment store, and /ready answers 200; an alert says it.',
  SANDBOX: 'the sandbox bank starts unless NODE_ENV is production.',
  SCHEMA:
    'the whole schema is served; the bank refuses what a customer may not do, and PERSISTED_ONLY accepts only documents of an app.',
};

/**
 * The message for a setting that an earlier version had, or for its `_FILE` variable; null for any other
 * name.
 */
export function insteadOf(name: string): string | null {
  const setting = Object.hasOwn(remedies, name) ? name : name.replace(/_FILE$/, '');
  return Object.hasOwn(remedies, setting) ? `this setting was removed: ${remedies[setting]}` : null;
}
