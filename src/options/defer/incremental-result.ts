import type { GraphQLError } from 'graphql';
import type { IncrementalOptions, Payload, IncrementalResult as Results } from '../../engine/engine.ts';
import { shownError } from '../../engine/errors.ts';
import { jsonInSlices } from '../../engine/json.ts';
import { finalIfItWrote } from '../../engine/result.ts';
import { answerTooLong, boundErrors, maxErrors } from '../../executor/answer-budget.ts';
import type { SlicedOperation } from '../../slices.ts';
import type { IncrementalResults } from './incremental-execution.ts';

export interface IncrementalResultOptions
  extends Pick<IncrementalOptions, 'maxBytes' | 'mask' | 'extensions' | 'withoutData'> {
  readonly operation: SlicedOperation;
  /** Why the operation was ended early; null while it goes on. */
  readonly exceeded: () => GraphQLError | null;
  /** Cancels what is still read for it. */
  readonly cancel: () => void;
}

/** In bytes: most payloads are short. */
const chunkSize = 16 * 1024;

/** What may have failed. */
interface Fallible {
  readonly errors?: readonly GraphQLError[] | undefined;
}

/** A part of the answer that was put off: an object, or entries of a list. */
interface Part extends Fallible {
  readonly data?: unknown;
  readonly items?: unknown;
}

/** What a first result and those that follow it have in common. */
interface AnyResult extends Fallible {
  readonly data?: unknown;
  readonly pending?: readonly { readonly id: string }[];
  readonly incremental?: readonly Part[];
  readonly completed?: readonly ({ readonly id: string } & Fallible)[];
  readonly hasNext: boolean;
}

/**
 * The results of an operation with @defer or @stream. As graphql 17 forms them, the first one says what is `pending`, and the
 * others are `incremental` and say what is `completed`; in the form of 2022 each incremental one has its path. Together
 * they obey the limits of one answer.
 */
export function incrementalResult(
  { initialResult, subsequentResults }: IncrementalResults,
  { maxBytes, operation, exceeded, cancel, mask, extensions, withoutData }: IncrementalResultOptions,
): Results {
  const isOf2022 = !('pending' in initialResult);
  /** The ids of what is still to come. */
  const awaited = new Set<string>();
  let hasMore = true;
  let isFirst = true;
  let bytes = 0;
  let shownErrors = 0;

  /** Shows the first 100 errors of all payloads together; those that it shows are added to `told`. */
  function show(errors: readonly GraphQLError[], told: GraphQLError[]): readonly object[] {
    const room = Math.max(0, maxErrors - shownErrors);
    shownErrors += errors.length;
    const shown = errors.slice(0, room).map(mask);
    told.push(...shown);
    return boundErrors(shown, errors.length - shown.length).map(shownError);
  }

  /** Errors: AnswerLimitError, if it is too long. */
  async function toPayload(result: AnyResult): Promise<Payload> {
    const limit = exceeded();
    if (limit !== null) throw limit;
    const told: GraphQLError[] = [];
    const showIn = (part: Fallible): object =>
      part.errors === undefined ? part : { ...part, errors: show(part.errors, told) };
    const { incremental, completed } = result;
    const more = result.hasNext ? undefined : extensions();
    const shown = {
      ...showIn(result),
      ...(incremental === undefined ? {} : { incremental: incremental.map(showIn) }),
      ...(completed === undefined ? {} : { completed: completed.map(showIn) }),
      ...(more === undefined ? {} : { extensions: more }),
    };
    const chunks = await jsonInSlices(shown, maxBytes - bytes, { operation, chunkSize });
    if (chunks === null) throw answerTooLong(maxBytes);
    const json = Buffer.concat(chunks);
    bytes += json.length;
    return { json, errors: told, hasData: [result, ...(incremental ?? [])].some(tellsData) };
  }

  /** Only what was sent is known to the client. */
  function noteSent({ hasNext, pending = [], completed = [] }: AnyResult): void {
    isFirst = false;
    hasMore = hasNext;
    for (const { id } of pending) awaited.add(id);
    for (const { id } of completed) awaited.delete(id);
  }

  /** The last payload: everything pending fails with this error, or the whole answer if no payload was sent yet. */
  function last(cause: unknown): Payload {
    // A mutation whose payload defers has been executed: it must not come again for what is read after it.
    const { errors = [] } = finalIfItWrote(withoutData(cause));
    const more = extensions();
    const shown = errors.map(shownError);
    const told = isFirst
      ? { data: null, errors: shown, hasNext: false }
      : isOf2022
        ? { incremental: [{ path: [], errors: shown }], hasNext: false }
        : { completed: [...awaited].map((id) => ({ id, errors: shown })), hasNext: false };
    const json = Buffer.from(JSON.stringify(more === undefined ? told : { ...told, extensions: more }));
    return { json, errors, hasData: false };
  }

  return {
    async *payloads(): AsyncGenerator<Payload, void, void> {
      try {
        yield await toPayload(initialResult);
        noteSent(initialResult);
        for await (const result of subsequentResults) {
          yield await toPayload(result);
          noteSent(result);
        }
        // An execution that is ended by a limit may just have no more results.
        if (hasMore) throw exceeded() ?? new Error('the results end early');
      } catch (error) {
        cancel();
        try {
          yield last(exceeded() ?? error);
        } catch {
          // Not even that is taken.
        }
      } finally {
        await subsequentResults.return().catch(() => {});
      }
    },
  };
}

/** A null says nothing if its field failed; in an answer without errors the distinction does not matter. */
const tellsData = ({ data, items }: Part): boolean =>
  Object.values(data ?? {}).some((field) => field !== null) || (Array.isArray(items) && items.length > 0);
