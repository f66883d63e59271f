import { readConfig } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { type Variable, variableNames, variables } from '../config/variables.ts';
import { StartError } from '../errors.ts';
import { describeSandbox } from '../sandbox/describe.ts';
import { SandboxError } from '../sandbox/faults.ts';
import * as identity from '../sandbox/identity.ts';
import { readSandboxOptions, type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/server.ts';
import { type CliContext, checkFolder, readWords, type Service } from './command.ts';

const variableOfOption = {
  faults: 'SANDBOX_FAULTS',
  scenario: 'SANDBOX_SCENARIO',
  database: 'SANDBOX_DB',
} as const;

/** Uses options of the sandbox bank. Errors: ConfigError if its faults, scenario or database cannot be used. */
async function using<T>(
  options: SandboxOptions,
  use: (options: SandboxOptions) => T | Promise<T>,
): Promise<T> {
  try {
    return await use(options);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    // A scenario's file names faults too.
    const isOfScenario = error.option === 'faults' && options.faults === undefined;
    const option = isOfScenario ? 'scenario' : error.option;
    const variable = variableOfOption[option];
    throw new ConfigError([{ variable, value: options[option] ?? '', remedy: error.message }]);
  }
}

/** Starts the sandbox bank. Errors: ConfigError, as of `checkSandbox`. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  checkDatabaseFolder(options);
  return using(options, startSandbox);
}

/** Reads what the sandbox bank starts with. Errors: ConfigError if it cannot be used, or its database has no folder. */
export async function checkSandbox(options: SandboxOptions): Promise<void> {
  checkDatabaseFolder(options);
  await using(options, readSandboxOptions);
}

/** SQLite also takes URIs (`file:`), and finds out itself whether they can be used. */
function checkDatabaseFolder({ database }: SandboxOptions): void {
  if (!/^(:memory:$|file:)/.test(database)) checkFolder(variableOfOption.database, database, database);
}

/** The variables that the options of `bankql sandbox` set, by the options' names. */
const variableOf = Object.fromEntries(
  variableNames.flatMap((name) => {
    const { option }: Variable = variables[name];
    return option === undefined ? [] : [[option.slice(2), name] as const];
  }),
);

/** What the words say: the variables that its options set, by name. Errors: StartError for an option that there is not. */
function readOptions(args: readonly string[]) {
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
  return { describe, given };
}

/** The options of the sandbox bank. Errors: ConfigError. */
function sandboxOf(environment: CliContext['environment'], given: Readonly<Record<string, string>>) {
  // It serves nothing else: the ports of bankql are free for it.
  const unused = { PORT: '0', METRICS_PORT: undefined, METRICS_HOST: undefined, WORKERS: undefined };
  const fixed = { ...unused, BANK_BASE_URL: undefined, SANDBOX: 'on' };
  return readConfig({ ...environment, ...given, ...fixed }).sandbox;
}

/** An error with the options in the place of the variables that they set. */
function byOption(error: unknown, given: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ConfigError)) return error;
  const optionOf = (name: string) =>
    Object.keys(variableOf).find((option) => variableOf[option] === name && Object.hasOwn(given, name));
  return new ConfigError(
    error.problems.map((problem) => {
      const option = optionOf(problem.variable);
      return option === undefined ? problem : { ...problem, variable: `--${option}` };
    }),
  );
}

/** `bankql sandbox`: only the sandbox bank; with `--describe` who is in it, and what to try. */
export async function runSandbox({ environment, args, write }: CliContext): Promise<Service | number> {
  const { describe, given } = readOptions(args);
  try {
    const options = sandboxOf(environment, given);
    if (!describe) return announced(await openSandbox(options), write);
    write(await using(options, describeSandbox));
    return 0;
  } catch (error) {
    throw byOption(error, given);
  }
}

/** Says where the sandbox bank is, and how it is called. */
function announced(sandbox: Sandbox, write: CliContext['write']): Service {
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
  return { stop: () => sandbox.close(), reload: async () => {} };
}
