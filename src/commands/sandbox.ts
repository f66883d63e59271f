import { readConfig } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { ConfigError, StartError } from '../config/start-error.ts';
import { type Variable, variableNames, variables } from '../config/variables.ts';
import { DatabaseError } from '../sandbox/database.ts';
import { describeSandbox } from '../sandbox/describe.ts';
import { FaultError } from '../sandbox/faults.ts';
import * as identity from '../sandbox/identity.ts';
import { ScenarioError } from '../sandbox/scenario.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/server.ts';
import type { CliContext, Service } from './command.ts';

/** Starts the sandbox bank. Errors: ConfigError where its faults, scenario or database cannot be used. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await startSandbox(options);
  } catch (error) {
    throw asConfigError(error, options);
  }
}

/**
 * Turns the reason why a sandbox cannot start into an error of the variable that caused it; any other failure stays as
 * it is.
 */
function asConfigError(error: unknown, { faults, scenario, database }: Partial<SandboxOptions>): unknown {
  const problem = (variable: string, value = '') =>
    new ConfigError([{ variable, value, remedy: error instanceof Error ? error.message : '' }]);
  if (error instanceof FaultError && faults !== undefined) return problem('SANDBOX_FAULTS', faults);
  // A scenario's file names faults too.
  if (error instanceof FaultError || error instanceof ScenarioError)
    return problem('SANDBOX_SCENARIO', scenario);
  if (error instanceof DatabaseError) return problem('SANDBOX_DB', database);
  return error;
}

/** The variables that the options of `bankql sandbox` set. */
const variableOf = new Map(
  variableNames.flatMap((name) => {
    const { option }: Variable = variables[name];
    return option === undefined ? [] : [[option, name] as const];
  }),
);

/** The environment with what options say instead. Errors: StartError for an option that there is not. */
function withOptions({ environment, args }: Pick<CliContext, 'environment' | 'args'>): Environment {
  const given: Record<string, string> = {};
  const words = args.flatMap((word) => /^(--[\w-]+)=(.*)$/s.exec(word)?.slice(1) ?? [word]);
  for (let at = 0; at < words.length; at += 2) {
    const [option = '', value] = words.slice(at, at + 2);
    const name = variableOf.get(option);
    if (name === undefined || value === undefined)
      throw new StartError(
        name === undefined
          ? `bankql sandbox takes no "${option}": see bankql sandbox --help.`
          : `${option} needs a value: see bankql sandbox --help.`,
      );
    given[name] = value;
  }
  return { ...environment, ...given, BANK_BASE_URL: undefined, WORKERS: undefined, SANDBOX: 'on' };
}

const optionsOf = (context: Pick<CliContext, 'environment' | 'args'>) =>
  readConfig(withOptions(context)).sandbox;

/** `bankql sandbox`: only the sandbox bank. */
export async function serveSandbox(context: CliContext): Promise<Service> {
  const { write } = context;
  const options = optionsOf(context);
  const sandbox = await openSandbox(options);
  const key = `Ocp-Apim-Subscription-Key: ${identity.subscriptionKey}`;
  write(
    [
      `The sandbox bank answers at ${sandbox.url}, to callers ${identity.callers.join(', ')}.`,
      '`npm run sandbox -- --describe` (or `bankql sandbox --describe`) says who they are and what to try.',
      '',
      `  curl ${sandbox.url}/v1/api/banks/${identity.bankId}/branches -H '${key}'`,
      '',
      '',
    ].join('\n'),
  );
  return { stop: () => sandbox.close(), reload: async () => {}, flush() {} };
}

/** `bankql sandbox --describe`: who is in the sandbox bank, and what to try. Gives the exit code. */
export async function describe(context: CliContext): Promise<number> {
  const options = optionsOf(context);
  try {
    context.write(describeSandbox(options));
  } catch (error) {
    throw asConfigError(error, options);
  }
  return 0;
}
