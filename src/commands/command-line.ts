import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { shownValue } from '../config/environment.ts';
import { variablesAsHelp } from '../config/help.ts';
import { isVariable } from '../config/variables.ts';
import { messageOf } from '../errors.ts';
import { meantBy } from '../plain-text.ts';
import { version } from '../version.ts';
import { type CliCommand, type CliContext, type Given, type Service, UsageError } from './command.ts';
import { commands, formerCommands } from './commands.ts';

const title = "bankql: a GraphQL façade over a bank's REST interface.";
const usage = 'usage: bankql [command] [options] [--env-file FILE]\n';

/** Rows of two columns. */
function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}\n`).join('');
}

const rows: ReadonlyMap<string, CliCommand> = new Map<string, CliCommand>(Object.entries(commands));
const formerNames: ReadonlyMap<string, string> = new Map(Object.entries(formerCommands));
const names = [...rows.keys()];
const paymentNames = names.filter((name) => name.startsWith('payments '));

const list = (named: readonly string[]): string =>
  columns(named.map((name) => [name, rows.get(name)?.summary ?? '']));

/** The text of `bankql help`. */
const overview = (): string => `${title}

${usage}
${list(names)}
${columns([
  ['help COMMAND', 'describes a command, and so does COMMAND --help'],
  ['help settings', 'lists the environment variables, with their defaults'],
  ['--env-file FILE', 'reads variables from a file; those of the environment come first'],
  ['--version', 'prints the versions of bankql and Node'],
])}
  npx bankql                                serves the sandbox bank
  bankql check --env-file production.env    checks the settings of a real one

Exit codes: 0 done, 1 not done, or not all of it, 2 the command line cannot be used; standard error says why.
`;

const paymentsOverview = (): string => `usage: bankql payments COMMAND [options]

${list(paymentNames)}
STATE_URL has to be that of the bankql whose payments these are. Nothing is sent to the bank.
`;

const settings = (): string => `Environment variables, with their defaults:

${variablesAsHelp()}`;

function usageOf(name: string, { words, needs, options }: CliCommand): string {
  const shown = name === 'serve' ? '[serve]' : name;
  const parts = ['usage: bankql', shown, words, needs, Object.keys(options).length > 0 && '[options]'];
  return `${parts.filter(Boolean).join(' ')} [--env-file FILE]\n`;
}

function helpOf(name: string, command: CliCommand): string {
  const options = Object.entries(command.options).map(
    ([option, { value, meaning }]) => [[`--${option}`, value].filter(Boolean).join(' '), meaning] as const,
  );
  return [
    usageOf(name, command),
    `${command.about}\n`,
    ...(options.length === 0 ? [] : [columns(options)]),
    command.examples.map((example) => `  ${example}\n`).join(''),
  ].join('\n');
}

/**
 * The help for these words.
 * Errors: UsageError if the words name no command.
 */
function help(words: readonly string[]): string {
  const [first] = words;
  if (first === undefined) return overview();
  if (first === 'settings') return settings();
  if (words.join(' ') === 'payments') return paymentsOverview();
  const { name, command } = findCommand(words);
  return helpOf(name, command);
}

interface Found {
  readonly name: string;
  readonly command: CliCommand;
  readonly args: readonly string[];
}

/** The command that the first words name. Errors: UsageError, with the new name of a former command, or a similar name. */
function findCommand(words: readonly string[]): Found {
  const [first = '-'] = words;
  if (first.startsWith('-')) return { name: 'serve', command: commands.serve, args: words };
  const two = words.slice(0, 2).join(' ');
  for (const name of [two, first]) {
    const command = rows.get(name);
    if (command !== undefined) return { name, command, args: words.slice(name.split(' ').length) };
    const former = formerNames.get(name);
    if (former !== undefined) throw new UsageError(former);
  }
  if (first === 'payments' && (two === first || two.startsWith('payments -')))
    throw new UsageError(`Say what to do with payments.\n${paymentsOverview().trimEnd()}`);
  const wanted = first === 'payments' ? two : first;
  // For `list` alone, `payments list` may be meant.
  const meant =
    meantBy(wanted, names) ?? paymentNames.find((name) => meantBy(first, [name.replace('payments ', '')]));
  const advice = meant === undefined ? '' : ` Did you mean bankql ${meant}?`;
  throw new UsageError(
    `bankql has no command "${wanted}".${advice}\n${usage}bankql help lists the commands.`,
  );
}

/**
 * The options and words of a command.
 * Errors: UsageError, which never contains the value of an option.
 */
function readGiven(name: string, command: CliCommand, args: readonly string[]): Given {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([option, { value, multiple = false }]) => [
      option,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue;
    const next = tokens[index + 1];
    const value = token.value ?? (next?.kind === 'positional' ? next.value : '…');
    throw new UsageError(
      formerNames.get(`${name} ${token.rawName}`) ??
        `bankql ${name} has no option ${token.rawName}${instead(command, token.name, value)}`,
    );
  }
  const given = parseGiven(args, options);
  // The message does not repeat the word, because it may be a credential whose option is missing.
  if (given.words.length > 0 && command.words === undefined)
    throw new UsageError(`bankql ${name} takes options only, and no further word.`);
  return given;
}

function parseGiven(args: readonly string[], options: ParseArgsOptionsConfig): Given {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values, words: positionals } as Given;
  } catch (cause) {
    throw new UsageError(messageOf(cause), { cause });
  }
}

/** The remedy for an option that a command does not have. */
function instead({ options }: CliCommand, option: string, value: string): string {
  const variable = option.toUpperCase().replaceAll('-', '_');
  if (isVariable(variable)) return `: set the variable, as ${variable}=${shownValue(variable, value)}.`;
  const meant = meantBy(option, Object.keys(options));
  return meant === undefined ? '.' : `. Did you mean --${meant}?`;
}

/**
 * The files of `--env-file`, in their order, and the other words.
 * Errors: UsageError if an option has no file.
 */
export function takeEnvFiles(words: readonly string[]) {
  const options = { 'env-file': { type: 'string' } } as const;
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true });
  const envFiles: string[] = [];
  const others = [...words];
  for (const token of tokens.toReversed()) {
    if (token.kind !== 'option' || token.name !== 'env-file') continue;
    if (!token.value)
      throw new UsageError('--env-file needs the name of a file, such as --env-file production.env.');
    envFiles.unshift(token.value);
    others.splice(token.index, token.inlineValue ? 1 : 2);
  }
  return { envFiles, words: others };
}

const isHelp = (word: string) => word === '--help' || word === '-h';

/** A command with its options and words from the command line. */
interface Invocation extends Pick<CliCommand, 'isService' | 'failureCode'> {
  /** Errors: those of CliCommand. A UsageError ends with the command's usage. */
  run(context: CliContext): Promise<Service | number>;
}

/**
 * The help or version text that the words after `bankql` request, or the command to run.
 * Errors: UsageError. It begins with the error, and ends with the usage.
 */
export function readCommandLine(words: readonly string[]): string | Invocation {
  const [first = ''] = words;
  if (['--version', '-v', 'version'].includes(first))
    return `bankql ${version}, Node ${process.versions.node}\n`;
  if (first === 'help' || isHelp(first)) return help(words.slice(1));
  if (first === 'payments' && words.length === 2 && isHelp(words[1] ?? '')) return paymentsOverview();
  const { name, command, args } = findCommand(words);
  if (args.some(isHelp)) return helpOf(name, command);
  const withUsage = (error: unknown): never => {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}\n${usageOf(name, command)}bankql help ${name} describes it.`, {
      cause: error,
    });
  };
  try {
    const given = readGiven(name, command, args);
    const { isService, failureCode } = command;
    return { isService, failureCode, run: (context) => command.run(context, given).catch(withUsage) };
  } catch (error) {
    return withUsage(error);
  }
}
