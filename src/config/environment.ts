import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { messageOf, orStop, StartError } from '../errors.ts';
import { shownStoreUrl } from '../payments/store/store-address.ts';
import { decodeText, meantBy, trimmed, visible, withoutLineEnds } from '../plain-text.ts';
import { insteadOf } from './removed-variables.ts';
import {
  fileEnding,
  isVariable,
  secretVariables,
  type VariableName,
  valuesOf,
  variableNames,
  variables,
} from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface ConfigProblem {
  readonly variable: string;
  /** The value, as it may be shown: without credentials; empty if the variable is not set. */
  readonly value: string;
  /** The remedy, as a sentence. */
  readonly remedy: string;
}

/** The process cannot start with its variables. Each line of the message names a variable, its value and the remedy. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(
      problems
        .map(({ variable, value, remedy }) => visible(`${variable}=${value} cannot be used: ${remedy}`))
        .join('\n'),
    );
    this.problems = problems;
  }
}

/**
 * Names that a platform sets by itself: the links to services in every container of Kubernetes (for a service called `bank`,
 * BANK_SERVICE_HOST and BANK_PORT=tcp://…), folders of systemd, and addresses of managed identities in Azure.
 */
const isOfPlatform = (name: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
  (/_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value)) ||
  /^(STATE_DIRECTORY|IDENTITY_(ENDPOINT|HEADER|API_VERSION|SERVER_THUMBPRINT))$/.test(name);

/** The text of a variable, without white space and invisible characters at its ends; undefined if it is not set, or empty. */
export function givenOf(environment: Environment, name: VariableName): string | undefined {
  const text = trimmed(environment[name] ?? '');
  return text === '' || isOfPlatform(name, text) ? undefined : text;
}

/** A value as messages and lists may show it: a secret is hidden. */
export function shownValue(name: VariableName, value: string): string {
  if (name === 'BANK_SUBSCRIPTION_KEY') return value && '…';
  return name === 'STATE_URL' ? shownStoreUrl(value, '…') : value.replace(/(:\/{0,2}).*@/s, '$1…@');
}

const quoted = /^(["'`]).*\1$|^[“”„‘’].*[“”‘’]$/su;

/** The remedy for a value that cannot be used; undefined for a valid value. */
function remedyFor(name: VariableName, text: string): string | undefined {
  if (text.length > 1 && quoted.test(text)) return 'leave out the quotes: they would be a part of it.';
  const [hidden] = /(?!\s)[\p{Cc}\p{Cf}]/u.exec(text) ?? [];
  if (hidden !== undefined) return `it contains ${visible(hidden)}: remove it.`;
  return variables[name].safeParse(text).error?.issues[0]?.message;
}

/**
 * Reads the variables of an environment. An empty variable counts as unset.
 * Shape:  the values, and the problems of invalid ones. An invalid value is replaced by the default.
 */
export function readVariables(environment: Environment) {
  const problems: ConfigProblem[] = [];
  const usable: Record<string, string> = {};
  for (const name of variableNames) {
    const given = givenOf(environment, name);
    const remedy = given && remedyFor(name, given);
    if (remedy) problems.push({ variable: name, value: shownValue(name, given), remedy });
    else if (given) usable[name] = given;
  }
  return { values: valuesOf.parse(usable), problems };
}

const isKnown = (name: string) =>
  isVariable(name) || secretVariables.some((secret) => name === secret + fileEnding);

/** The prefixes of names that only bankql uses. */
const ownPrefix = /^(BANK|BANKQL|IDENTITY|VIEWER|RATE_LIMIT|PERSISTED|STATE|IDEMPOTENCY|SANDBOX|MAX_REST)_/;

/**
 * The variable of bankql that a misspelt name may mean. Short names are not compared, because other programs use names such as
 * STORE_URL and LOG_FILE.
 */
const variableMeantBy = (name: string): VariableName | undefined =>
  meantBy(
    name,
    variableNames.filter((known) => known.length >= 10 || ownPrefix.test(name)),
  );

/**
 * Problems for names that begin like bankql's or are almost one of bankql's, and for settings of earlier versions. They are
 * problems, because if BNAK_BASE_URL were ignored, the sandbox bank would start. Their values are not shown, because they may
 * be secrets.
 */
export const unknownVariables = (environment: Environment): ConfigProblem[] =>
  Object.entries(environment).flatMap(([given, value = '']) => {
    // Node's own --env-file takes a byte order mark for a part of the first name.
    const name = given.replaceAll(/[\s\p{Cf}]/gu, '');
    if (value === '' || isOfPlatform(given, value)) return [];
    const problem = (remedy: string) => [{ variable: given, value: '…', remedy }];
    const instead = insteadOf(given);
    if (instead !== null) return problem(instead);
    if (name !== given && isKnown(name))
      return problem(
        `take away what cannot be seen in the name ${name}; if it is in a file, save that in UTF-8 without a byte order mark.`,
      );
    if (isKnown(name)) return [];
    const meant = variableMeantBy(name);
    if (meant !== undefined) return problem(`no variable has this name: did you mean ${meant}?`);
    return ownPrefix.test(name)
      ? problem(
          'no variable has this name: `bankql help settings` lists all, and CHANGELOG.md says what became of earlier ones.',
        )
      : [];
  });

/** The files from which values were read, by the variables' names. */
type Sources = ReadonlyMap<string, string>;

/**
 * Reads the files of `--env-file` and the files of secrets. Values of the environment take precedence over files, and later
 * files over earlier ones.
 * Shape:  the environment with the variables of the files, and `sources`: the file of each of these variables.
 * Errors: StartError if a file of `--env-file` cannot be read; ConfigError if the file of a secret cannot be read.
 */
export function resolveEnvironment(own: Environment, envFiles: readonly string[]) {
  const environment: Record<string, string | undefined> = {};
  const sources = new Map<string, string>();
  for (const file of envFiles) {
    const text = orStop(() => textOf(file), `--env-file ${file} cannot be used: `).replaceAll('\r\n', '\n');
    const bad = misleadingLine(text);
    if (bad !== null)
      throw new StartError(
        `--env-file ${file}, line ${bad}: give NAME=value; put a value with # or quotes in other quotes; a comment begins with #.`,
      );
    for (const [name, value] of Object.entries(parseEnv(text))) {
      environment[name] = value;
      sources.set(name, file);
    }
  }
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || withoutLineEnds(value) === '') continue;
    // Node's own --env-file takes the byte order mark for a part of the first name. The variable was read without it above.
    if (name.startsWith(mark) && sources.has(name.slice(1))) continue;
    environment[name] = value;
    sources.delete(name);
  }
  const problems = secretVariables.flatMap((name) => takeSecret(name, environment, sources));
  if (problems.length > 0) throw new ConfigError(problems);
  return { environment, sources };
}

const mark = '\uFEFF';

/** An entry of an env file: an assignment, a comment or an empty line. A value in quotes may have several lines. */
const line =
  /[^\S\n]*(?:(?:export )?[A-Za-z_][\w.-]*[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^\s"'`#][^\n#]*)?)?[^\S\n]*(?:(?<!\S)#.*)?(?:\n|$)/y;

/**
 * The number of the first line that parseEnv would leave out or misread, or null. Such a line
 * - has no name or no value,
 * - has words behind a quoted value,
 * - has a quote that is not closed, or
 * - has a # in a value, where parseEnv would cut the value off.
 * The line itself is not returned, because it may contain a secret.
 */
function misleadingLine(text: string): number | null {
  for (line.lastIndex = 0; line.lastIndex < text.length; ) {
    const at = line.lastIndex;
    if (!line.test(text)) return text.slice(0, at).split('\n').length;
  }
  return null;
}

/** The text of a file. Errors: an Error whose message does not contain the file's name (Node's own message does). */
function textOf(file: string): string {
  try {
    return decodeText(readFileSync(file));
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    throw new Error(`the file cannot be read: ${cause.code}.`, { cause });
  }
}

function takeSecret(
  name: string,
  environment: Record<string, string | undefined>,
  sources: Map<string, string>,
): ConfigProblem[] {
  const variable = name + fileEnding;
  const file = trimmed(environment[variable] ?? '');
  if (file === '') return [];
  const refuse = (remedy: string): ConfigProblem[] => [{ variable, value: file, remedy }];
  if (trimmed(environment[name] ?? '') !== '') return refuse(`${name} is set too: leave one of them out.`);
  try {
    const secret = withoutLineEnds(textOf(file));
    if (trimmed(secret) === '') return refuse('the file is empty.');
    environment[name] = secret;
    sources.set(name, file);
    return [];
  } catch (error) {
    return refuse(messageOf(error));
  }
}

/** The variables that are set, one line each: the name, the value without secrets, and the source of the value. */
export const settingsIn = (environment: Environment, sources: Sources): string[] =>
  variableNames.flatMap((name) => {
    const given = givenOf(environment, name);
    if (given === undefined) return [];
    const setting = visible(`${name}=${shownValue(name, given)}`);
    return [`${setting.padEnd(40)}  # ${visible(sources.get(name) ?? 'environment')}`];
  });
