import {
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  getVariableValues,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';
import { z } from 'zod';
import { type Config, readConfig } from '../config/config.ts';
import { readText } from '../config/environment.ts';
import { orStop, StartError } from '../errors.ts';
import { fragmentsOf } from '../executor/selection.ts';
import { mostCalls, planCalls } from '../options/explain/plan.ts';
import { schema } from '../schema/schema.ts';
import { type CliContext, readWords } from './command.ts';
import { documentCheckOf } from './schema.ts';

/** `bankql explain`: what operations cost in REST calls. Gives the exit code: 1 if one may cost more than `--max`, or a file
 * cannot be explained. */
export async function explainFiles({ environment, args, write, writeError }: CliContext): Promise<number> {
  const options = readOptions(args);
  // Builds of apps have no bank: only the way in which callers are identified matters here.
  const config = readConfig({ ...environment, STATE_URL: 'memory:', HOST: undefined });
  const explain = explainerOf(config, options);
  const failures: string[] = [];
  const explained = options.files.flatMap((file) => {
    try {
      return explain(file);
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      failures.push(error.message);
      return [];
    }
  });
  const [failure] = failures;
  if (failure !== undefined && options.files.length === 1) throw new StartError(failure);
  if (options.operation !== undefined && explained.length === 0)
    throw new StartError(`There is no operation ${options.operation} in ${options.files.join(', ')}.`);
  if (options.json) write(`${JSON.stringify(explained, null, 2)}\n`);
  else for (const each of explained) write(`${describe(each)}\n`);
  // The others are explained all the same.
  for (const message of failures) writeError(`${message}\n`);
  const { max, entries } = options;
  const over = explained.filter(({ plan }) => max !== undefined && mostCalls(plan, entries) > max);
  for (const { file, operation, plan } of over)
    writeError(
      `${file}: ${operation} may make ${mostCalls(plan, entries)} REST calls (${plan.most}, n = ${entries}), and --max allows ${max}.\n`,
    );
  return over.length === 0 && failures.length === 0 ? 0 : 1;
}

/** Errors: StartError. */
function readOptions(args: readonly string[]) {
  const { values, positionals } = readWords('explain', args, {
    operation: { type: 'string' },
    variables: { type: 'string' },
    max: { type: 'string' },
    entries: { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length === 0)
    throw new StartError('Name the files with the queries, such as bankql explain overview.graphql.');
  return {
    files: positionals,
    operation: values.operation,
    variables: values.variables === undefined ? {} : readVariables(values.variables),
    max: values.max === undefined ? undefined : wholeNumber('--max', values.max),
    entries: wholeNumber('--entries', values.entries ?? '10'),
    json: values.json ?? false,
  };
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new StartError(`${name} takes a whole number, such as ${name} 20.`);
}

function readVariables(file: string): Readonly<Record<string, unknown>> {
  const text = readText(file);
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new StartError(`${file} holds no JSON object of variables.`);
  }
}

/** Returns a function that explains the operations of a file. All files have the same schema. Errors: StartError, of that function. */
function explainerOf(config: Config, { operation: name, variables }: ReturnType<typeof readOptions>) {
  const check = documentCheckOf(config);
  const defaults = {
    ...config.server.defaults,
    bankId: config.server.defaults.bankId ?? 'the-bank',
    allProductsId: config.server.defaults.allProductsId ?? 'all-products',
  };
  return (file: string) => {
    const document = orStop(() => check(readText(file)), `${file}: `);
    const operations = document.definitions.filter(
      (node): node is OperationDefinitionNode =>
        node.kind === Kind.OPERATION_DEFINITION && (name === undefined || node.name?.value === name),
    );
    return operations.map((operation) => {
      const definitions = operation.variableDefinitions ?? [];
      const given = withPlaceholders(schema, definitions, variables);
      const coerced = getVariableValues(schema, definitions, given, { maxErrors: 1 });
      if (coerced.variableValues === undefined)
        throw new StartError(`${file}: ${coerced.errors[0]?.message}`);
      const plan = planCalls({
        schema,
        operation,
        fragments: fragmentsOf(document),
        defaults,
        credentials: anybody(config),
        variableValues: coerced.variableValues,
      });
      return { file, operation: operation.name?.value ?? operation.operation, plan };
    });
  };
}

/** The variables with a placeholder for each that the operation requires and that is not given. */
function withPlaceholders(
  served: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const placeholders = definitions.flatMap(({ variable, type, defaultValue }) => {
    const known = typeFromAST(served, type);
    const isRequired = isNonNullType(known) && defaultValue === undefined;
    return isRequired && isInputType(known) ? [[variable.name.value, placeholderOf(known)]] : [];
  });
  return { ...Object.fromEntries(placeholders), ...given };
}

/** A value of an input type with as little as it allows. */
function placeholderOf(type: GraphQLInputType): unknown {
  const known = getNullableType(type);
  if (isListType(known)) return [placeholderOf(known.ofType)];
  if (isEnumType(known)) return known.getValues()[0]?.name;
  if (!isInputObjectType(known))
    return { Boolean: true, Float: 1, Int: 1, Decimal: '1' }[known.name] ?? 'placeholder';
  const required = Object.values(known.getFields()).filter(isRequiredInputField);
  return Object.fromEntries(required.map((field) => [field.name, placeholderOf(field.type)]));
}

/** Any caller: the calls are the same for each. */
const anybody = ({ identity }: Config) => ({
  subscriptionKey: 'key',
  authProviderName: 'provider',
  authId: 'caller',
  claims: Object.fromEntries((identity?.claims ?? []).map((name) => [name, 'claim'])),
});

function describe({ file, operation, plan }: ReturnType<ReturnType<typeof explainerOf>>[number]): string {
  const { least, most, rounds, calls } = plan;
  const cost = String(least) === most ? most : `${least} to ${most}`;
  const width = Math.max(0, ...calls.map(({ path }) => path.length));
  const lines = calls.map(
    ({ path, times, method, url, operation: id, round }) =>
      `  ${path.padEnd(width)}  ${times.padEnd(5)} round ${round}  ${id}: ${method} ${url}\n`,
  );
  const waits = rounds < 2 ? '' : `, in ${rounds} rounds`;
  return `${file}: ${operation} makes ${cost} REST ${cost === '1' ? 'call' : 'calls'}${waits}\n${lines.join('')}`;
}
