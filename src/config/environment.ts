import { distance } from 'fastest-levenshtein';
import type { ConfigProblem } from './start-error.ts';
import { fileEnding, type Variable } from './variable.ts';
import { secretVariables, type Values, type VariableName, variableNames, variables } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a variable; undefined where it is not set, or empty. */
export function givenOf(environment: Environment, name: VariableName): string | undefined {
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
    const { schema, fallback, show = (text: string) => text }: Variable = variables[name];
    const given = givenOf(environment, name);
    if (given === undefined) return fallback;
    const { success, data, error } = schema.safeParse(given);
    if (success) return data;
    problems.push({
      variable: name,
      value: show(given),
      remedy: error.issues[0]?.message ?? 'leave it out.',
    });
    return fallback;
  };
  // The one place where texts become typed values: each is what its own schema made of it.
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

/**
 * Names that are almost those of ours, which bankql would otherwise ignore: with BNAK_BASE_URL the sandbox bank would
 * start. Their values are not shown: they may be anything.
 */
export function misspelledVariables(environment: Environment): ConfigProblem[] {
  return Object.keys(environment).flatMap((name) => {
    if (name.length < minLength || isKnown(name) || !environment[name]) return [];
    const meant = variableNames.find(
      // A difference in length takes as many edits: it spares nearly all distances, each of which takes far longer.
      (known) =>
        known.length >= minLength &&
        Math.abs(known.length - name.length) <= maxEdits &&
        distance(name, known) <= maxEdits,
    );
    if (meant === undefined) return [];
    return [{ variable: name, value: '…', remedy: `no variable has this name: did you mean ${meant}?` }];
  });
}
