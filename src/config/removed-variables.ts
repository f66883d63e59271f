import type { ConfigProblem } from './config-error.ts';

/** Settings of earlier versions, and what holds instead. If one is set, bankql does not start: nothing is ignored silently. */
const removedVariables: Readonly<Record<string, string>> = {
  BANK_PAYMENT_REJECTED_STATUSES:
    'the whole answer decides; list its words, codes or texts in BANK_PAYMENT_REJECTED.',
  BANK_PAYMENT_REJECTED_WORDS: 'its name is BANK_PAYMENT_REJECTED.',
  STATE_WAIT_REPLICAS: 'synchronous_standby_names of PostgreSQL decides how many standbys confirm a payment.',
  STATE_WITNESS:
    'nothing keeps marks of the payment store any more; docs/payment-stores.md says which losses are noticed.',
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
