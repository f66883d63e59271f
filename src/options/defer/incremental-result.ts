import type { GraphQLError } from 'graphql';
import type { IncrementalOptions, Payload, IncrementalResult as Results } from '../../engine/engine.ts';
import { shownError } from '../../engine/errors.ts';
import { jsonInTurns } from '../../engine/json.ts';
import { unlessItDid } from '../../engine/result.ts';
import { answerTooLong, boundErrors, maxErrors } from '../../executor/answer-budget.ts';
import type { TurnTaker } from '../../executor/scheduler.ts';
import type { IncrementalResults } from './incremental-execution.ts';

export interface IncrementalResultOptions
  extends Pick<IncrementalOptions, 'maxBytes' | 'mask' | 'extensions' | 'withoutData'> {
  readonly taker?: TurnTaker | undefined;
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
export class IncrementalResult implements Results {
  readonly #execution: IncrementalResults;
  readonly #options: IncrementalResultOptions;
  /** The ids of what is still to come. */
  readonly #pending = new Set<string>();
  #hasNext = true;
  #isFirst = true;
  #bytes = 0;
  #errors: GraphQLError[] = [];
  #shownErrors = 0;

  constructor(execution: IncrementalResults, options: IncrementalResultOptions) {
    this.#execution = execution;
    this.#options = options;
  }

  async *payloads(): AsyncGenerator<Payload, void, void> {
    const { initialResult, subsequentResults } = this.#execution;
    try {
      yield await this.#toPayload(initialResult);
      this.#sent(initialResult);
      for await (const result of subsequentResults) {
        yield await this.#toPayload(result);
        this.#sent(result);
      }
      // An execution that is ended by a limit may just have no more results.
      if (this.#hasNext) throw this.#options.exceeded() ?? new Error('the results end early');
    } catch (error) {
      this.#options.cancel();
      try {
        yield this.#last(this.#options.exceeded() ?? error);
      } catch {
        // Not even that is taken.
      }
    } finally {
      await subsequentResults.return().catch(() => {});
    }
  }

  /** Errors: AnswerLimitError, if it is too long. */
  async #toPayload(result: AnyResult): Promise<Payload> {
    const { maxBytes, taker, exceeded, extensions } = this.#options;
    const limit = exceeded();
    if (limit !== null) throw limit;
    this.#errors = [];
    const { incremental, completed, errors } = result;
    const more = result.hasNext ? undefined : extensions();
    const shown = {
      ...result,
      ...(errors === undefined ? {} : { errors: this.#show(errors) }),
      ...(incremental === undefined ? {} : { incremental: incremental.map((each) => this.#showIn(each)) }),
      ...(completed === undefined ? {} : { completed: completed.map((each) => this.#showIn(each)) }),
      ...(more === undefined ? {} : { extensions: more }),
    };
    const chunks = await jsonInTurns(shown, maxBytes - this.#bytes, { taker, chunkSize });
    if (chunks === null) throw answerTooLong(maxBytes);
    const json = Buffer.concat(chunks);
    this.#bytes += json.length;
    return { json, errors: this.#errors, hasData: [result, ...(incremental ?? [])].some(tellsData) };
  }

  /** Only what was sent is known to the client. */
  #sent({ hasNext, pending = [], completed = [] }: AnyResult): void {
    this.#isFirst = false;
    this.#hasNext = hasNext;
    for (const { id } of pending) this.#pending.add(id);
    for (const { id } of completed) this.#pending.delete(id);
  }

  get #isOf2022(): boolean {
    return !('pending' in this.#execution.initialResult);
  }

  /** The last payload: everything pending fails with this error, or the whole answer if no payload was sent yet. */
  #last(cause: unknown): Payload {
    const { withoutData, extensions } = this.#options;
    // A mutation whose payload defers has been executed: it must not come again for what is read after it.
    const { errors = [] } = unlessItDid(withoutData(cause));
    const more = extensions();
    const shown = errors.map(shownError);
    const told = this.#isFirst
      ? { data: null, errors: shown, hasNext: false }
      : this.#isOf2022
        ? { incremental: [{ path: [], errors: shown }], hasNext: false }
        : { completed: [...this.#pending].map((id) => ({ id, errors: shown })), hasNext: false };
    const json = Buffer.from(JSON.stringify(more === undefined ? told : { ...told, extensions: more }));
    return { json, errors, hasData: false };
  }

  #showIn(part: Fallible): object {
    return part.errors === undefined ? part : { ...part, errors: this.#show(part.errors) };
  }

  /** Shows the first 100 errors of all payloads together. */
  #show(errors: readonly GraphQLError[]): readonly object[] {
    const room = Math.max(0, maxErrors - this.#shownErrors);
    this.#shownErrors += errors.length;
    const shown = errors.slice(0, room).map(this.#options.mask);
    this.#errors.push(...shown);
    return boundErrors(shown, errors.length - shown.length).map(shownError);
  }
}

/** A null says nothing if its field failed; in an answer without errors the distinction does not matter. */
const tellsData = ({ data, items }: Part): boolean =>
  Object.values(data ?? {}).some((field) => field !== null) || (Array.isArray(items) && items.length > 0);
