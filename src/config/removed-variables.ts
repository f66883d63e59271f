import type { ConfigProblem } from './config-error.ts';

/** Settings of earlier versions, and what holds instead. If one is set, bankql does not start: nothing is ignored silently. */
const removedVariables: Readonly<Record<string, string>> = {
  BANK_BREAKER_OPEN_MS: 'an open breaker lets a trial call through after 10 s.',
  BANK_CONNECTION_MAX_AGE_MS: 'a kept connection is replaced after a minute.',
  BANK_CONNECTION_PER_CALLER:
    'for a bank that mixes up the answers on one connection, set BANK_KEEP_ALIVE=off.',
  BANK_CONNECTION_WAIT_MS: 'a call waits 250 ms for its turn.',
  BANK_CONNECT_TIMEOUT_MS: 'connecting takes a second at most.',
  BANK_OPERATION_SHARE: 'one bank operation has at most three quarters of BANK_CONNECTIONS.',
  BANK_PAYMENT_REJECTED_STATUSES:
    'the whole answer decides; list its words, codes or texts in BANK_PAYMENT_REJECTED.',
  BANK_PAYMENT_REJECTED_WORDS: 'its name is BANK_PAYMENT_REJECTED.',
  BANK_RETRY_SHARE: 'a tenth of the reads may be sent again.',
  BANK_SLOW_CALL_MS: 'a call is slow after 80 % of its deadline.',
  COMPRESSION: 'answers are not compressed; a proxy in front can do it (SECURITY.md says when).',
  FEDERATION: 'a gateway uses the schema as a plain subgraph or subschema (docs/clients.md).',
  MAX_EVENT_LOOP_LAG_MS:
    'MAX_IN_FLIGHT and MAX_IN_FLIGHT_PER_CALLER bound the requests in progress, however late they are.',
  PRIVATE_CACHE_MS: 'answers of a caller are shared while they are read, and not kept.',
  SANDBOX_DB: 'the sandbox bank keeps its data in memory.',
  SANDBOX_FAULTS: 'set faults while the sandbox bank runs, by PUT /sandbox/faults.',
  SANDBOX_LATENCY_MS: 'set it while the sandbox bank runs: PUT /sandbox/faults {"*": {"latency": 300}}.',
  SANDBOX_SCENARIO: 'the sandbox bank always starts with its five customers.',
  STATE_WAIT_REPLICAS: 'synchronous_standby_names of PostgreSQL decides how many standbys confirm a payment.',
  STATE_WITNESS:
    'nothing keeps marks of the payment store any more; docs/operate.md says which losses are noticed.',
  RATE_LIMIT_URL:
    'calls are counted in memory now; for several replicas, divide RATE_LIMIT by their number, or limit in the proxy.',
};

/** Their values are not shown: they may be secrets. */
export const removedVariablesIn = (
  environment: Readonly<Record<string, string | undefined>>,
): ConfigProblem[] =>
  Object.entries(removedVariables).flatMap(([variable, instead]) =>
    environment[variable] || environment[`${variable}_FILE`]
      ? [{ variable, value: '…', remedy: `this setting left: ${instead}` }]
      : [],
  );
