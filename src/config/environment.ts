import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { distance } from 'fastest-levenshtein';
import { messageOf, StartError } from '../errors.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
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

/** The text of a variable; undefined if it is not set, or empty. */
function givenOf(environment: Environment, name: VariableName): string | undefined {
  const { alias }: Variable = variables[name];
  return (alias === undefined ? undefined : environment[alias]) || environment[name] || undefined;
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
    const { read: readText, fallback, show }: Variable = variables[name];
    const given = givenOf(environment, name);
    if (given === undefined) return fallback;
    try {
      return readText(given);
    } catch (error) {
      problems.push({ variable: name, value: show(given), remedy: messageOf(error) });
    }
    return fallback;
  };
  // The one place where texts become typed values: each is what its own format made of it.
  const values = Object.fromEntries(variableNames.map((name) => [name, read(name)])) as Values;
  return { values, problems };
}

const isKnown = (name: string) =>
  Object.hasOwn(variables, name) || secretVariables.some((secret) => name === secret + fileEnding);

/** What OpenTelemetry's SDKs read, and bankql does not. */
const unsupported: Readonly<Record<string, string>> = {
  OTEL_SDK_DISABLED: 'bankql does not read it: leave OTEL_EXPORTER_OTLP_ENDPOINT out to send no traces.',
  OTEL_RESOURCE_ATTRIBUTES:
    'bankql does not read it: it sends OTEL_SERVICE_NAME; add attributes in the collector.',
};

export const unsupportedVariables = (environment: Environment): ConfigProblem[] =>
  Object.entries(unsupported).flatMap(([variable, remedy]) =>
    environment[variable] ? [{ variable, value: environment[variable], remedy }] : [],
  );

/** Two letters that changed places are two edits. */
const maxEdits = 2;
/** A shorter name is near to too many that are not ours. */
const minLength = 8;

/** Names that environments set for other programs, although they are almost HTTPS_PROXY and NO_PROXY. */
const otherPrograms: readonly string[] = ['HTTP_PROXY', 'WS_PROXY'];

/**
 * Names that are almost those of ours, which bankql would otherwise ignore: with BNAK_BASE_URL the sandbox bank would
 * start. Their values are not shown: they may be anything.
 */
export function misspelledVariables(environment: Environment): ConfigProblem[] {
  return Object.keys(environment).flatMap((name) => {
    if (name.length < minLength || isKnown(name) || otherPrograms.includes(name) || !environment[name])
      return [];
    const meant = variableNames.find(
      // A difference in length takes as many edits: checking it first avoids nearly all distances, which take far
      // longer.
      (known) =>
        known.length >= minLength &&
        Math.abs(known.length - name.length) <= maxEdits &&
        distance(name, known) <= maxEdits,
    );
    if (meant === undefined) return [];
    return [{ variable: name, value: '…', remedy: `no variable has this name: did you mean ${meant}?` }];
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
    const text = readText(file, `--env-file ${file}`);
    const bad = lineWithoutValue(text);
    if (bad !== null)
      throw new StartError(`--env-file ${file}, line ${bad}: give NAME=value; a comment begins with #.`);
    for (const [name, value] of Object.entries(parseEnv(text))) {
      environment[name] = value;
      sources.set(name, file);
    }
  }
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || value === '') continue;
    environment[name] = value;
    sources.delete(name);
  }
  const problems = secretVariables.flatMap((name) => takeSecret(name, environment, sources));
  if (problems.length > 0) throw new ConfigError(problems);
  return { environment, sources };
}

/** The first line that parseEnv would leave out without a word; null if there is no such line. Its text may be a secret. */
function lineWithoutValue(text: string): number | null {
  // A value in quotes may have several lines.
  const lines = text
    .replaceAll(/=\s*(["'`])[\s\S]*?\1/g, (value) => `=${value.replaceAll(/[^\n]/g, '')}`)
    .split('\n');
  const index = lines.findIndex(
    (line) => line.trim() !== '' && !line.trim().startsWith('#') && !line.includes('='),
  );
  return index === -1 ? null : index + 1;
}

/** The text of a file. Errors: StartError, which names it so. */
export function readText(file: string, name = file): string {
  try {
    return readFileSync(file, 'utf8');
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
  const file = environment[variable];
  if (!file) return [];
  const refuse = (remedy: string): ConfigProblem[] => [{ variable, value: file, remedy }];
  if (environment[name]) return refuse(`${name} is set too: leave one of them out.`);
  try {
    // Editors and `echo` end a file with a line break that belongs to no secret.
    const secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (secret === '') return refuse('the file is empty.');
    environment[name] = secret;
    sources.set(name, file);
    return [];
  } catch (error) {
    return refuse(`the file cannot be read: ${codeOf(error)}.`);
  }
}

/** The code of an error; its message would repeat the path. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);

/** Every variable as it is in force, a line each: its name, its value without secrets, and where that comes from. */
export function inForce(environment: Environment, sources: Sources): string {
  const lines = variableNames.map((name) => settingOf(name, environment, sources));
  const width = 40;
  return lines.map(({ setting, source }) => `${setting.padEnd(width)}  # ${source}\n`).join('');
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
