import type { ConfigProblem } from './config-error.ts';

/** Settings of earlier versions, and what holds instead. If one is set, bankql does not start: nothing is ignored silently. */
const removedVariables: Readonly<Record<string, string>> = {
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
