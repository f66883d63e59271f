import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import { readConfig } from '../config/config.ts';
import { variablesAsHelp } from '../config/help.ts';
import { doctorUsage } from '../doctor/doctor-options.ts';
import { StartError } from '../errors.ts';
import { sandboxHost } from '../sandbox/identity.ts';
import { version } from '../version.ts';
import { type CliCommand, readWords } from './command.ts';

/** The commands by name, in the order of `bankql help`. Each one loads its modules when it runs. */
export const commands = {
  serve: {
    isService: true,
    summary: 'serves GraphQL over the bank of BANK_BASE_URL, or over the embedded sandbox bank; the default',
    help: `usage: bankql [serve] [--env-file FILE]

Serves GraphQL at http://HOST:PORT/graphql until it gets SIGTERM or SIGINT. Without BANK_BASE_URL it starts the sandbox
bank too. \`bankql help\` lists the environment variables. SIGHUP reloads what can change while it runs; with
WORKERS, SIGUSR2 replaces the workers.

  BANK_BASE_URL=https://bank.example BANK_ID=THEBANK1 STATE_URL=sqlite:state.db bankql
`,
    async run(context) {
      readWords('serve', context.args, {});
      if (cluster.isWorker) return (await import('../app/workers/worker.ts')).serveAsWorker(context);
      const config = readConfig(context.environment);
      if (config.workers > 1)
        return (await import('../app/workers/primary.ts')).serveFromWorkers(context, config);
      return (await import('../app/app.ts')).serveBankql(context);
    },
  },
  sandbox: {
    isService: true,
    summary: 'serves only the sandbox bank',
    help: `usage: bankql sandbox [options]

Serves the sandbox bank's REST interface at http://${sandboxHost}:4010 until it gets SIGTERM or SIGINT.

  --port NUMBER   its port (SANDBOX_PORT, or 4010); 0 for any free port
  --now TIME      a fixed time, such as 2026-01-31T09:00Z, to which the dates of its records are relative

  bankql sandbox --port 8080 --now 2026-01-31T09:00Z
`,
    run: async (context) => (await import('./sandbox.ts')).runSandbox(context),
  },
  doctor: {
    summary: "compares a bank's answers with the contract",
    help: doctorUsage,
    // 1 says that a bank does not conform.
    failureCode: 2,
    run: async (context) => (await import('./doctor.ts')).checkBank(context),
  },
  payments: {
    summary:
      'makes the payment store, finds payments, settles those of unknown outcome, backs the records up',
    help: null,
    run: async (context) => (await import('./payments.ts')).managePayments(context),
  },
  schema: {
    summary: 'prints the GraphQL schema',
    help: `usage: bankql schema

Prints the schema in GraphQL's schema definition language.

  bankql schema > schema.graphql
`,
    async run({ args, write }) {
      readWords('schema', args, {});
      write((await import('../schema/schema.ts')).printedSchema());
      return 0;
    },
  },
  explain: {
    summary: 'runs queries against the sandbox bank, and counts their REST calls',
    help: `usage: bankql explain FILE... [--operation NAME] [--variables FILE] [--max N] [--json]

Runs each operation in the .graphql files against a fresh sandbox bank in this process, as its customer alice, and prints the REST
calls that it made, by the field that asked for them. Exits with 1 if an operation has errors. No other bank is called.

  --operation NAME   only this operation
  --variables FILE   the variables, as JSON
  --max N            exits with 1 if an operation makes more than N calls
  --json             the calls as JSON

  bankql explain src/queries/overview.graphql --max 20
`,
    run: async (context) => (await import('./explain.ts')).explainFiles(context),
  },
  config: {
    summary: 'checks the configuration, and prints what is set and the fixed limits',
    help: `usage: bankql config check [--no-store] [--env-file FILE]

Names every value that cannot be used, and exits with 1 if it finds one. Else prints each variable that is set, with its value
(secrets are masked) and its source, the fixed limits, when the bank's certificates expire, and what the payment store holds. The
store is opened as for a start, but nothing is written.

  --no-store   leaves the store out, where it cannot be reached

  bankql config check --env-file production.env
`,
    run: async (context) => (await import('./config.ts')).checkConfig(context),
  },
} as const satisfies Record<string, CliCommand>;

const width = Math.max(...Object.keys(commands).map((name) => name.length));
const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`);

export const help = (): string => `bankql: a GraphQL façade over a bank's REST interface.

usage: bankql [command] [--env-file FILE]

${list.join('')}
  help COMMAND, or COMMAND --help, tells more; --version prints the version.
  --env-file FILE reads variables from a file; those of the environment come first.

  npx bankql                                     serves the sandbox bank
  bankql doctor --env-file production.env        compares the bank's answers with the contract

Environment variables, with their defaults:

${variablesAsHelp()}`;

/** The files of `--env-file`, in their order, and the other words. Errors: StartError if one names no file. */
export function takeEnvFiles(words: readonly string[]) {
  const options = { 'env-file': { type: 'string' } } as const;
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true });
  const envFiles: string[] = [];
  const others = [...words];
  for (const token of tokens.toReversed()) {
    if (token.kind !== 'option' || token.name !== 'env-file') continue;
    if (!token.value)
      throw new StartError('--env-file needs the name of a file, such as --env-file production.env.');
    envFiles.unshift(token.value);
    others.splice(token.index, token.inlineValue ? 1 : 2);
  }
  return { envFiles, words: others };
}

const isHelp = (word: string) => word === '--help' || word === '-h';

/**
 * The help or version text that the words after `bankql` request, or the command to run with its words.
 * Errors: StartError if there is no such command; it names the commands that exist.
 */
export function readInvocation([first = 'serve', ...args]: readonly string[]):
  | string
  | { readonly command: CliCommand; readonly args: readonly string[] } {
  if (['--version', '-v', 'version'].includes(first))
    return `bankql ${version}, Node ${process.versions.node}\n`;
  if (first === 'help' && args[0] !== undefined) return readInvocation([args[0], '--help']);
  if (first === 'help' || isHelp(first)) return help();
  const command = new Map<string, CliCommand>(Object.entries(commands)).get(first);
  if (command === undefined)
    throw new StartError(`bankql knows no command "${first}", only ${Object.keys(commands).join(', ')}.`);
  return command.help !== null && args.some(isHelp) ? command.help : { command, args };
}
