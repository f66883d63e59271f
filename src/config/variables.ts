import type { Variable } from './variable.ts';
import { bankVariables } from './variables/bank.ts';
import { callersVariables } from './variables/callers.ts';
import { exploringVariables } from './variables/exploring.ts';
import { limitsVariables } from './variables/limits.ts';
import { networkVariables } from './variables/network.ts';
import { paymentsVariables } from './variables/payments.ts';
import { resilienceVariables } from './variables/resilience.ts';
import { sandboxVariables } from './variables/sandbox.ts';
import { serverVariables } from './variables/server.ts';
import { tracesVariables } from './variables/traces.ts';

/** The variables by what an operator sets them for: the documentation's sections, in its order. */
export const sections: Readonly<Record<string, Readonly<Record<string, Variable>>>> = {
  'The bank': bankVariables,
  'The way to the bank': networkVariables,
  'Who calls': callersVariables,
  Payments: paymentsVariables,
  'A bank that is slow or away': resilienceVariables,
  'What one request may cost': limitsVariables,
  'The server': serverVariables,
  Traces: tracesVariables,
  'For people who explore': exploringVariables,
  'The sandbox bank': sandboxVariables,
};

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are made of it. */
export const variables = {
  ...bankVariables,
  ...networkVariables,
  ...callersVariables,
  ...paymentsVariables,
  ...resilienceVariables,
  ...limitsVariables,
  ...serverVariables,
  ...tracesVariables,
  ...exploringVariables,
  ...sandboxVariables,
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

/** Those that hold a secret, and may be read from a file (read-environment.ts). */
export const secretVariables: readonly VariableName[] = variableNames.filter((name) => {
  const { isSecret = false }: Variable = variables[name];
  return isSecret;
});

/** What each variable says. */
export type Values = {
  readonly [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};
