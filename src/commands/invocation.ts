import { distance } from 'fastest-levenshtein';
import { StartError } from '../config/start-error.ts';
import type { CliCommand, ServiceCommand } from './cli-command.ts';
import { commands } from './commands.ts';

/** What the words behind `bankql` ask for. */
export type Invocation =
  | { readonly kind: 'version' }
  /** The help of all commands. */
  | { readonly kind: 'help' }
  | { readonly kind: 'command-help'; readonly text: string }
  | { readonly kind: 'run'; readonly command: CliCommand; readonly args: readonly string[] };

/** The files of `--env-file`, in their order, and the other words. Errors: StartError where one names no file. */
export function takeEnvFiles(words: readonly string[]): {
  readonly envFiles: readonly string[];
  readonly words: readonly string[];
} {
  const envFiles: string[] = [];
  const others: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const [, assigned] = /^--env-file=(.*)$/s.exec(word) ?? [];
    if (word !== '--env-file' && assigned === undefined) {
      others.push(word);
      continue;
    }
    const file = assigned ?? words[++at] ?? '';
    if (file === '')
      throw new StartError('--env-file needs the name of a file, such as --env-file production.env.');
    envFiles.push(file);
  }
  return { envFiles, words: others };
}

const isHelp = (word: string | undefined) => word === '--help' || word === '-h';

/** Errors: StartError where there is no such command; it names one that is similar. */
export function readInvocation(words: readonly string[]): Invocation {
  const [first, ...rest] = words;
  if (first === '--version' || first === '-v' || first === 'version') return { kind: 'version' };
  if (isHelp(first) || (first === 'help' && rest[0] === undefined)) return { kind: 'help' };
  if (first === 'help') return readInvocation([rest[0] ?? '', '--help']);
  const command = commandOf(first ?? 'serve');
  if (command.help !== null && isHelp(rest[0])) return { kind: 'command-help', text: command.help };
  const takesOptions = command.kind === 'service' && command.takesOptions === true;
  const at = command.kind === 'service' ? rest.findIndex((word) => taskOf(command, word) !== undefined) : -1;
  const task = command.kind === 'service' ? taskOf(command, rest[at]) : undefined;
  if (task !== undefined && (rest.length === 1 || takesOptions))
    return { kind: 'run', command: task, args: rest.toSpliced(at, 1) };
  if (command.kind === 'service' && rest.length > 0 && !takesOptions)
    throw new StartError(`bankql ${first} takes no "${rest.join(' ')}": see bankql ${first} --help.`);
  return { kind: 'run', command, args: rest };
}

const taskOf = ({ tasks = {} }: ServiceCommand, option = '') =>
  Object.hasOwn(tasks, option) ? tasks[option] : undefined;

/** How many edits a word may be away from the command that is suggested for it. */
const maxEdits = 2;

function commandOf(name: string): CliCommand {
  const known: Readonly<Record<string, CliCommand>> = commands;
  const command = Object.hasOwn(known, name) ? known[name] : undefined;
  if (command !== undefined) return command;
  const similar = Object.keys(known).find((each) => distance(name, each) <= maxEdits);
  const hint = similar === undefined ? '' : ` Did you mean ${similar}?`;
  throw new StartError(`bankql knows no command "${name}".${hint} bankql help lists them.`);
}
