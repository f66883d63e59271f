import {
  type DocumentNode,
  defaultFieldResolver,
  type ExecutionResult,
  type ExperimentalIncrementalExecutionResults,
  experimentalExecuteIncrementally,
  type GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  GraphQLStreamDirective,
  getDirectiveValues,
  type LegacyExperimentalIncrementalExecutionResults,
  legacyExecuteIncrementally,
  visit,
} from 'graphql';
import {
  AnswerLimitError,
  type AnswerLimits,
  answerTooLong,
  boundErrors,
  lengthOf,
  maxErrors,
  nameBytes,
} from '../executor/answer-budget.ts';
import { isPromise } from '../executor/promises.ts';
import { eachSelection, isDeferred, type Selection } from '../executor/selection.ts';
import { getOrMake } from '../get-or-make.ts';
import type { Context } from '../schema/context.ts';
import { fieldExtensionsOf, nullOnError } from '../schema/plugin/field-extensions.ts';
import { globalIdTypes } from '../schema/plugin/global-id.ts';
import { shortAnswer } from '../server/response.ts';
import type { EngineRequest, RequestContext } from './context.ts';
import { RequestError, shownError } from './errors.ts';
import { withFields } from './map-fields.ts';
import { found, type OperationContext } from './operation-context.ts';
import { finalIfItWrote, noRoom } from './result.ts';
import type { MaskError } from './use-masked-errors.ts';

/** graphql's own executor takes up to ten times as long for each value. */
const cost = 10;
/** The limits with which an incremental answer costs no more work than the largest other answer. */
export const incrementalLimits = ({ values, bytes }: AnswerLimits): AnswerLimits => ({
  values: Math.ceil(values / cost),
  bytes,
  cost,
});

/** Whether an operation has @defer or @stream, and its client takes several results. */
export const isIncremental = ({ asking, operation }: OperationContext): boolean =>
  asking.incremental !== undefined && operation?.usesIncremental === true;

interface IncrementalOptions {
  readonly run: RequestContext;
  /** Coerced; graphql's executors coerce them again. */
  readonly variables: Selection['variableValues'];
  readonly mask: MaskError;
  readonly maxBytes: number;
  /** Makes the schema record the calls of its fields, if the request asks for them. */
  readonly observe: ((schema: GraphQLSchema) => GraphQLSchema) | undefined;
  /** An ordinary result, if no @defer or @stream is in force. */
  readonly conclude: (result: ExecutionResult) => ExecutionResult | Promise<ExecutionResult>;
  /** The extensions of the last result. */
  readonly extensions: () => Readonly<Record<string, unknown>> | undefined;
  /** Creates the answer with this error instead of the data. */
  readonly withoutData: (error: unknown) => ExecutionResult;
}

type IncrementalResults =
  | ExperimentalIncrementalExecutionResults
  | LegacyExperimentalIncrementalExecutionResults;

const schemas = new WeakMap<GraphQLSchema, GraphQLSchema>();

/** Executes an operation with graphql's own executors, within its limits. Errors: BAD_USER_INPUT for an argument of @stream. */
export async function executeIncrementally(
  context: OperationContext,
  options: IncrementalOptions,
): Promise<ExecutionResult | AsyncIterable<object>> {
  const { asking } = context;
  const { schema, document, kind, node, hideSuggestions } = found(context.operation);
  checkStreams(document, options.variables);
  const counted = getOrMake(schemas, schema, () =>
    withFields(schema, (field, { name }) => countedField(field, name)),
  );
  const execute =
    asking.incremental === 'v0.2' ? experimentalExecuteIncrementally : legacyExecuteIncrementally;
  const result = await execute({
    schema: options.observe?.(counted) ?? counted,
    document,
    contextValue: options.run,
    variableValues: found(context.askedFor).variables,
    operationName: node.name?.value ?? null,
    hideSuggestions,
    // Deferred fields of a mutation's payload are read once all its fields have been written.
    enableEarlyExecution: kind === 'query',
  });
  if ('initialResult' in result) return resultsOf(result, asking, options);
  const { errors = [] } = result;
  if (errors.length <= maxErrors) return options.conclude(result);
  const shown = boundErrors(errors.slice(0, maxErrors), errors.length - maxErrors);
  return options.conclude({ ...result, errors: shown });
}

/**
 * The field within the budget of its operation. A link then does not read a record that only deferred fields need, so that the
 * first result does not wait for it; those fields read it themselves, in the same call.
 */
function countedField(
  field: GraphQLField<unknown, unknown>,
  typeName: string,
): GraphQLField<unknown, unknown> {
  const { resolve = defaultFieldResolver } = field;
  const node = fieldExtensionsOf(field).fromIds === true ? undefined : globalIdTypes.get(typeName);
  const countedResolve: typeof resolve = (source, given, context, info) => {
    const { budget } = context as RequestContext;
    const spendOn = (value: unknown): unknown => {
      if (typeof value === 'string') budget.spend(0, value.length);
      else if (typeof value === 'object' && value !== null && Symbol.iterator in value) {
        // Each deferred part of an entry is charged like an entry, even if it selects no field.
        budget.spend(lengthOf(value) * (1 + deferredParts(info)), 0);
        if (Array.isArray(value)) value.forEach(spendOn);
      }
      return value;
    };
    const fail = (error: unknown): never => {
      if (!(error instanceof AnswerLimitError)) budget.countFailure();
      throw error;
    };
    try {
      budget.spend(1, String(info.path.key).length + nameBytes);
      const selection = { ...info, omitsDeferred: true } satisfies Selection;
      const complete = node?.withRecord?.(source as object, context as Context) ?? source;
      const value = isPromise(complete)
        ? complete.then((read) => resolve(read, given, context, selection))
        : resolve(complete, given, context, selection);
      return isPromise(value) ? Promise.resolve(value).then(spendOn).catch(fail) : spendOn(value);
    } catch (error) {
      return fail(error);
    }
  };
  return Object.create(field, { resolve: { value: countedResolve } });
}

/** How many parts with @defer the operation makes of each object there. */
function deferredParts(selection: Selection): number {
  let parts = 0;
  eachSelection(selection.fieldNodes, selection.fragments, (node) => {
    if (isDeferred(node, selection)) parts++;
    return true;
  });
  return parts;
}

/** Errors: BAD_USER_INPUT for a negative `initialCount`, which graphql takes for a mistake in the program that calls it. */
function checkStreams(document: DocumentNode, variables: Selection['variableValues']): void {
  visit(document, {
    Field(field) {
      // Fields fail by themselves if an argument of their directive is invalid.
      const stream = nullOnError(() => getDirectiveValues(GraphQLStreamDirective, field, variables));
      if (stream?.if === true && Number(stream.initialCount) < 0)
        throw new RequestError('BAD_USER_INPUT', '@stream needs an initialCount of 0 or more.', {
          nodes: field.directives?.filter(({ name }) => name.value === GraphQLStreamDirective.name),
        });
    },
  });
}

/** The members of a first result, of later results, and of their parts. */
interface AnyResult {
  readonly errors?: readonly GraphQLError[] | undefined;
  readonly data?: unknown;
  readonly items?: unknown;
  readonly pending?: readonly { readonly id: string }[];
  readonly incremental?: readonly AnyResult[];
  readonly completed?: readonly ({ readonly id: string } & Pick<AnyResult, 'errors'>)[];
  readonly hasNext?: boolean;
}

/** The results as yoga sends them, each with its JSON, which yoga takes as it is. Together they obey the limits of one answer. */
async function* resultsOf(
  { initialResult, subsequentResults }: IncrementalResults,
  { holder, activity, incremental: form }: EngineRequest,
  { run, mask, maxBytes, extensions, withoutData }: IncrementalOptions,
): AsyncGenerator<object, void, void> {
  const { budget } = run;
  const awaited = new Set<string>();
  let isFirst = true;
  let bytes = 0;
  let errorsSoFar = 0;

  /** Errors: AnswerLimitError if it is too long; OVERLOADED if there is no room for it to wait for its client. */
  function toSent(result: AnyResult): object {
    if (budget.exceeded !== null) throw budget.exceeded;
    const told: GraphQLError[] = [];
    const shown = <T extends Pick<AnyResult, 'errors'>>(part: T) => {
      if (part.errors === undefined) return part;
      const errors = part.errors.slice(0, Math.max(0, maxErrors - errorsSoFar)).map(mask);
      errorsSoFar += part.errors.length;
      told.push(...errors);
      return { ...part, errors: boundErrors(errors, part.errors.length - errors.length).map(shownError) };
    };
    const { incremental, completed, hasNext } = result;
    const more = hasNext === true ? undefined : extensions();
    const json = JSON.stringify({
      ...shown(result),
      ...(incremental && { incremental: incremental.map(shown) }),
      ...(completed && { completed: completed.map(shown) }),
      ...(more && { extensions: more }),
    });
    const length = Buffer.byteLength(json);
    bytes += length;
    if (bytes > maxBytes) throw answerTooLong(maxBytes);
    if (length > shortAnswer && holder?.reserveRoom(length) === false) throw noRoom();
    // Only after the checks above: a refused result is not sent, and so not the first one.
    isFirst = false;
    for (const { id } of result.pending ?? []) awaited.add(id);
    for (const { id } of completed ?? []) awaited.delete(id);
    activity?.streamed(200, {
      json,
      errors: told,
      hasData: [result, ...(incremental ?? [])].some(tellsData),
    });
    return { hasNext, stringify: () => json };
  }

  try {
    yield toSent(initialResult);
    let { hasNext } = initialResult as AnyResult;
    for await (const result of subsequentResults) {
      yield toSent(result);
      ({ hasNext } = result);
    }
    // An execution that is ended by a limit may just have no more results.
    if (hasNext === true) throw budget.exceeded ?? new Error('the results end early');
  } catch (cause) {
    run.session.cancel();
    // A mutation whose payload defers has been executed: its client must not repeat it because a later read failed.
    const { errors = [] } = finalIfItWrote(withoutData(budget.exceeded ?? cause));
    const shown = errors.map(shownError);
    const last = isFirst
      ? { data: null, errors: shown, hasNext: false }
      : form === '20220824'
        ? { incremental: [{ path: [], errors: shown }], hasNext: false }
        : { completed: [...awaited].map((id) => ({ id, errors: shown })), hasNext: false };
    const json = JSON.stringify({ ...last, extensions: extensions() });
    if (json.length > shortAnswer && holder?.reserveRoom(json.length) === false) {
      // There is no room even for the error. The answer is cut off, so that the client sees that it is incomplete.
      activity?.brokenOff('OVERLOADED');
      throw new DOMException('no room', 'AbortError');
    }
    activity?.streamed(200, { json, errors, hasData: false });
    yield { hasNext: false, stringify: () => json };
  } finally {
    await subsequentResults.return().catch(() => {});
  }
}

/** Whether a result contains data. A null does not count: its field may have failed. */
const tellsData = ({ data, items }: AnyResult): boolean =>
  Object.values(data ?? {}).some((field) => field !== null) || (Array.isArray(items) && items.length > 0);
