import { readConfig } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { type Variable, variableNames, variables } from '../config/variables.ts';
import { StartError } from '../errors.ts';
import * as identity from '../sandbox/identity.ts';
import { type Sandbox, startSandbox } from '../sandbox/server.ts';
import { type CliContext, readWords, type Service } from './command.ts';

/** The variables that the options of `bankql sandbox` set, by the options' names. */
const variableOf = Object.fromEntries(
  variableNames.flatMap((name) => {
    const { option }: Variable = variables[name];
    return option === undefined ? [] : [[option.slice(2), name] as const];
  }),
);

/** The variables that the options set, by name. Errors: StartError for an option that does not exist. */
function readOptions(args: readonly string[]): Record<string, string> {
  const options = Object.keys(variableOf).map((option) => [option, { type: 'string' as const }]);
  const { values, positionals } = readWords('sandbox', args, Object.fromEntries(options));
  if (positionals.length > 0)
    throw new StartError(`bankql sandbox takes no "${positionals.join(' ')}": see bankql sandbox --help.`);
  return Object.fromEntries(
    Object.entries(values).map(([option, value]) => [variableOf[option] ?? option, String(value)]),
  );
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

/** `bankql sandbox`: only the sandbox bank. */
export async function runSandbox({ environment, args, write }: CliContext): Promise<Service> {
  const given = readOptions(args);
  try {
    return announced(await startSandbox(sandboxOf(environment, given)), write);
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
      'docs/sandbox.md says who they are and what to try.',
      '',
      `  curl ${sandbox.url}/v1/api/banks/${identity.bankId}/branches -H '${key}'`,
      '',
      '',
    ].join('\n'),
  );
  return { stop: () => sandbox.close(), reload: async () => {} };
}
