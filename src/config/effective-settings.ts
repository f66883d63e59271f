import { type Environment, givenOf } from './environment.ts';
import type { Variable } from './variable.ts';
import { type VariableName, variableNames, variables } from './variables.ts';

/** Where a value that was not simply set in the environment comes from, by the variable's name: a file. */
export type Sources = ReadonlyMap<string, string>;

/** Every variable as it is in force, a line each: its name, its value without secrets, and where that comes from. */
export function inForce(environment: Environment, sources: Sources): string {
  const lines = variableNames.map((name) => settingOf(name, environment, sources));
  const width = 40;
  return lines.map(({ setting, source }) => `${setting.padEnd(width)}  # ${source}\n`).join('');
}

function settingOf(name: VariableName, environment: Environment, sources: Sources) {
  const { show = (text: string) => text, fallback, shownFallback }: Variable = variables[name];
  const given = givenOf(environment, name);
  if (given !== undefined)
    return { setting: `${name}=${show(given)}`, source: sources.get(name) ?? 'environment' };
  const plain = shownFallback.replaceAll('`', '');
  // What depends on the machine is said as it is on this one.
  if (typeof fallback === 'number' && plain !== String(fallback))
    return { setting: `${name}=${fallback}`, source: `default: ${plain}` };
  // What no value stands for is said in words.
  return fallback === undefined || typeof fallback === 'object'
    ? { setting: `${name}=`, source: `default: ${plain}` }
    : { setting: `${name}=${plain}`, source: 'default' };
}
