import { readConfig } from '../config/config.ts';
import { ConfigError, StartError } from '../config/start-error.ts';
import { type Variable, variableNames, variables } from '../config/variables.ts';
import { DatabaseError } from '../sandbox/database.ts';
import { describeSandbox } from '../sandbox/describe.ts';
import { FaultError } from '../sandbox/faults.ts';
import * as identity from '../sandbox/identity.ts';
import { ScenarioError } from '../sandbox/scenario.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/server.ts';
import { type CliContext, readWords, type Service } from './command.ts';

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

/** The variables that the options of `bankql sandbox` set, by the options' names. */
const variableOf = Object.fromEntries(
  variableNames.flatMap((name) => {
    const { option }: Variable = variables[name];
    return option === undefined ? [] : [[option.slice(2), name] as const];
  }),
);

/** What the words and the environment say; the words come first. Errors: StartError for an option that there is not. */
function readOptions({ environment, args }: Pick<CliContext, 'environment' | 'args'>) {
  const { values, positionals } = readWords('sandbox', args, {
    describe: { type: 'boolean' },
    ...Object.fromEntries(Object.keys(variableOf).map((option) => [option, { type: 'string' as const }])),
  });
  if (positionals.length > 0)
    throw new StartError(`bankql sandbox takes no "${positionals.join(' ')}": see bankql sandbox --help.`);
  const { describe = false, ...options } = values;
  const given = Object.fromEntries(
    Object.entries(options).map(([option, value]) => [variableOf[option] ?? option, String(value)]),
  );
  const fixed = { BANK_BASE_URL: undefined, WORKERS: undefined, SANDBOX: 'on' };
  return { describe, options: readConfig({ ...environment, ...given, ...fixed }).sandbox };
}

/** `bankql sandbox`: only the sandbox bank; with `--describe` who is in it, and what to try. */
export async function runSandbox(context: CliContext): Promise<Service | number> {
  const { write } = context;
  const { describe, options } = readOptions(context);
  if (describe) {
    try {
      write(describeSandbox(options));
      return 0;
    } catch (error) {
      throw asConfigError(error, options);
    }
  }
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
