import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { messageOf, orStop, StartError } from '../errors.ts';
import { decodeText, trimmed, visible, withoutLineEnds } from '../plain-text.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { editDistance } from './edit-distance.ts';
import {
  fileEnding,
  secretVariables,
  type Values,
  type Variable,
  type VariableName,
  variableNames,
  variables,
} from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The link to a service that Kubernetes puts into every container: for a service called `sandbox` this is SANDBOX_PORT. No
 * operator sets such a value.
 */
const isServiceLink = (name: string, value: string): boolean =>
  /^\w+_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value);

/** The text of a variable, without white space and marks at its ends unless they are refused; undefined if it is not set, or empty. */
function givenOf(environment: Environment, name: VariableName): string | undefined {
  const { alias, isVerbatim = false }: Variable = variables[name];
  const textOf = (key: string): string => {
    const given = environment[key] ?? '';
    const text = trimmed(given);
    return isServiceLink(key, text) ? '' : isVerbatim && text !== '' ? given : text;
  };
  return (alias === undefined ? '' : textOf(alias)) || textOf(name) || undefined;
}

const quoted = /^(["'`]).*\1$|^[“”„‘’].*[“”‘’]$/su;

/** Why a text is not what it seems to be, as a remedy; null if it is. */
function disguiseOf(text: string, { isVerbatim = false, isList = false }: Variable): string | null {
  if (isVerbatim && text !== trimmed(text)) return 'take away the white space at its ends.';
  if (text.length > 1 && quoted.test(text)) return 'leave out the quotes: they would be a part of it.';
  const [hidden] = (isList ? /(?!\s)[\p{Cc}\p{Cf}]/u : /[\p{Cc}\p{Cf}]/u).exec(text) ?? [];
  return hidden === undefined ? null : `it contains ${visible(hidden)}: take that away.`;
}

/**
 * What the variables of an environment say; an empty one counts as unset.
 * Shape:  the values, and the problems of those that cannot be used; such a variable's value is its fallback.
 */
export function readVariables(environment: Environment): {
  readonly values: Values;
  readonly problems: readonly ConfigProblem[];
} {
  const problems: ConfigProblem[] = [];
  const read = (name: VariableName): unknown => {
    const variable: Variable = variables[name];
    const given = givenOf(environment, name);
    if (given === undefined) return variable.fallback;
    const refuse = (remedy: string) =>
      void problems.push({ variable: name, value: variable.show(given), remedy });
    const disguise = disguiseOf(given, variable);
    try {
      if (disguise === null) return variable.read(given);
      refuse(disguise);
    } catch (error) {
      refuse(messageOf(error));
    }
    return variable.fallback;
  };
  // The one place where texts become typed values: each is what its own format made of it.
  const values = Object.fromEntries(variableNames.map((name) => [name, read(name)])) as Values;
  return { values, problems };
}

const isKnown = (name: string) =>
  Object.hasOwn(variables, name) || secretVariables.some((secret) => name === secret + fileEnding);

/** Two letters that changed places are two edits. */
const maxEdits = 2;
/** A shorter name is near to too many that are not ours. */
const minLength = 8;

/** Names that environments set for other programs, although they are almost HTTPS_PROXY, LOG_TIME, STATE_URL or METRICS_PORT. */
const otherPrograms: readonly string[] = [
  ...['HTTP_PROXY', 'WS_PROXY'],
  ...['LOG_FILE', 'LOG_TYPE', 'LOG_SIZE', 'LOG_NAME'],
  ...['STORE_URL', 'STATIC_URL', 'STAGE_URL', 'STATS_URL'],
  ...['METRICS_PATH', 'METRICS_HOSTS'],
];

/**
 * Names that are almost those of ours, which bankql would otherwise ignore: with BNAK_BASE_URL the sandbox bank would
 * start. Their values are not shown: they may be anything.
 */
export function misspelledVariables(environment: Environment): ConfigProblem[] {
  return Object.entries(environment).flatMap(([given, value = '']) => {
    const problem = (remedy: string) => [{ variable: given, value: '…', remedy }];
    if (value === '' || isServiceLink(given, value)) return [];
    // Node's own --env-file takes a byte order mark for a part of the first name.
    const name = given.replaceAll(/[\s\p{Cf}]/gu, '');
    if (name !== given && isKnown(name))
      return problem(
        `take away what cannot be seen in the name ${name}; if it is in a file, save that in UTF-8 without a byte order mark.`,
      );
    if (name.length < minLength || isKnown(name) || otherPrograms.includes(name)) return [];
    const meant = variableNames.find(
      // A difference in length takes as many edits: checking it first avoids nearly all distances, which take far
      // longer.
      (known) =>
        known.length >= minLength &&
        Math.abs(known.length - name.length) <= maxEdits &&
        editDistance(name, known) <= maxEdits,
    );
    return meant === undefined ? [] : problem(`no variable has this name: did you mean ${meant}?`);
  });
}

/** Where a value that was not simply set in the environment comes from, by the variable's name: a file. */
type Sources = ReadonlyMap<string, string>;

/**
 * Reads the files of `--env-file`, and those that hold secrets. What the environment itself sets comes first, then the
 * last of the files.
 * Shape:  the environment with what files add to it, and which of its variables they gave.
 * Errors: StartError if a file of `--env-file` cannot be read; ConfigError if that of a secret cannot.
 */
export function resolveEnvironment(own: Environment, envFiles: readonly string[]) {
  const environment: Record<string, string | undefined> = {};
  const sources = new Map<string, string>();
  for (const file of envFiles) {
    const text = normalized(readText(file, `--env-file ${file}`));
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
    // Node's own --env-file takes the mark for a part of the first name, which was read without it above.
    if (name.startsWith(mark) && sources.has(name.slice(1))) continue;
    environment[name] = value;
    sources.delete(name);
  }
  const problems = secretVariables.flatMap((name) => takeSecret(name, environment, sources));
  if (problems.length > 0) throw new ConfigError(problems);
  return { environment, sources };
}

const mark = '\uFEFF';

/** The text of an env file as parseEnv reads it right: it knows no CR that ends a line, mark, or tab behind `export`. */
const normalized = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/^\uFEFF+/gm, '')
    .replaceAll(/^([^\S\n]*export)[^\S\n]+/gm, '$1 ');

/** A line of an env file, or several if a value in quotes has them: an assignment, a comment or nothing. */
const line =
  /[^\S\n]*(?:(?:export )?[A-Za-z_][\w.-]*[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^\s"'`#][^\n#]*)?)?[^\S\n]*(?:(?<!\S)#.*)?(?:\n|$)/y;

/**
 * The first line that parseEnv would read as something else than it seems to be, or leave out: one without a name or a value,
 * with words behind a quoted value, with a quote that nothing closes, or with a # in a value, which would be cut off there.
 * Null if there is no such line. Its text may be a secret.
 */
function misleadingLine(text: string): number | null {
  for (line.lastIndex = 0; line.lastIndex < text.length; ) {
    const at = line.lastIndex;
    if (!line.test(text)) return text.slice(0, at).split('\n').length;
  }
  return null;
}

/** The text of a file. Errors: StartError, which names it so. */
export function readText(file: string, name = file): string {
  return orStop(() => decodeText(bytesOf(file, name)), `${name} cannot be used: `);
}

function bytesOf(file: string, name: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new StartError(`${name} cannot be read: ${codeOf(cause)}.`, { cause });
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
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    return refuse(`the file cannot be read: ${codeOf(error)}.`);
  }
  try {
    const secret = withoutLineEnds(decodeText(bytes));
    if (trimmed(secret) === '') return refuse('the file is empty.');
    environment[name] = secret;
    sources.set(name, file);
    return [];
  } catch (error) {
    return refuse(messageOf(error));
  }
}

/** The code of an error; its message would repeat the path. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);

/** Every variable as it is in force, a line each: its name, its value without secrets, and where that comes from. */
export function inForce(environment: Environment, sources: Sources): string {
  const lines = variableNames.map((name) => settingOf(name, environment, sources));
  const width = 40;
  return lines
    .map(({ setting, source }) => `${visible(setting).padEnd(width)}  # ${visible(source)}\n`)
    .join('');
}

function settingOf(name: VariableName, environment: Environment, sources: Sources) {
  const { show, fallback, shownFallback }: Variable = variables[name];
  const given = givenOf(environment, name);
  if (given !== undefined)
    return { setting: `${name}=${show(given)}`, source: sources.get(name) ?? 'environment' };
  const plain = shownFallback.replaceAll('`', '');
  // A default that depends on the machine is shown as it is on this one.
  if (typeof fallback === 'number' && plain !== String(fallback))
    return { setting: `${name}=${fallback}`, source: `default: ${plain}` };
  // A default that no value expresses is described in words.
  return fallback === undefined || typeof fallback === 'object'
    ? { setting: `${name}=`, source: `default: ${plain}` }
    : { setting: `${name}=${plain}`, source: 'default' };
}
