import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Sources } from './effective-settings.ts';
import type { Environment } from './environment.ts';
import { ConfigError, type ConfigProblem, StartError } from './start-error.ts';
import { fileEnding } from './variable.ts';
import { secretVariables } from './variables.ts';

/** The environment with what files add to it, and which of its variables they gave. */
export interface ResolvedEnvironment {
  readonly environment: Environment;
  readonly sources: Sources;
}

/**
 * Reads the files of `--env-file`, and those that hold secrets. What the environment itself sets comes first, then the
 * last of the files.
 * Errors: StartError where a file of `--env-file` cannot be read; ConfigError where that of a secret cannot.
 */
export function resolveEnvironment(own: Environment, envFiles: readonly string[]): ResolvedEnvironment {
  const environment: Record<string, string | undefined> = {};
  const sources = new Map<string, string>();
  for (const file of envFiles) {
    const text = readEnvFile(file);
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

/** The first line that parseEnv would leave out without a word; null if there is none. Its text may be a secret. */
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

function readEnvFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new StartError(`--env-file ${file} cannot be read: ${reasonOf(cause)}.`, { cause });
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
    return refuse(`the file cannot be read: ${reasonOf(error)}.`);
  }
}

/** Without the path, which the message names already. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
