import { GraphQLError } from 'graphql';

/** How large the answer to one operation may be. */
export interface AnswerLimits {
  /** Completed values: leaves, objects and list entries; each value in the answer's JSON counts as one. */
  readonly values: number;
  /** The length of its JSON, in bytes. */
  readonly bytes: number;
  /** How much one value of the answer counts in the process's total of values (default: 1). */
  readonly cost?: number;
}

/** Counts the values of all answers of the process that are being built. */
export interface ValueHolder {
  /** Takes so many more for this answer; false if its caller has none left. */
  takeValues(count: number): boolean;
}

/** How many values an execution completes as they arrive, and without being counted for the whole process. */
export const valuesAtOnce = 1000;

export const unlimited: AnswerLimits = { values: Infinity, bytes: Infinity };

/** The bytes around a member's name in JSON: its quotes, the colon, and a comma or brace. */
export const nameBytes = 4;

/**
 * The number of entries that a list reports; undefined if it reports none. A list that is not an array may create
 * its entries during iteration, so they are counted beforehand.
 */
export function lengthOf(list: object): number | undefined {
  if (Array.isArray(list)) return list.length;
  const length = 'length' in list ? list.length : 'size' in list ? list.size : undefined;
  return typeof length === 'number' ? length : undefined;
}

/** How many errors an answer shows. */
export const maxErrors = 100;
/** How many fields may fail before the operation is ended. */
const maxFailures = 1000;
/** How many list entries the searches of one operation may look at: about 0.3 s of processor time. */
const maxSearched = 100_000;

/**
 * The answer exceeds its limits (LIMIT_EXCEEDED), or there is no room for its values or its client has left (OVERLOADED). This
 * ends the operation and is the only error in its answer.
 */
export class AnswerLimitError extends GraphQLError {
  constructor(
    message: string,
    code: 'LIMIT_EXCEEDED' | 'OVERLOADED' = 'LIMIT_EXCEEDED',
    advice = '; ask for less at a time',
  ) {
    // An error with a path is not located again; otherwise that would happen for each pending field.
    super(`${message}${advice}.`, { path: [], extensions: { code } });
  }

  /** Whether the same operation may succeed later, when other operations use less. */
  get isTemporary(): boolean {
    return this.extensions.code === 'OVERLOADED';
  }
}

/** Ends work that nobody waits for any more. One for all: hundreds of operations may be abandoned at once. */
export const clientHasLeft = new AnswerLimitError('The client has left', 'OVERLOADED', '');

/** Whether a thrown value is an AnswerLimitError. Never throws, unlike `instanceof` on a revoked proxy. */
export function isAnswerLimit(thrown: unknown): thrown is AnswerLimitError {
  try {
    return thrown instanceof AnswerLimitError;
  } catch {
    return false;
  }
}

/** The error for an answer whose JSON is too long. */
export const answerTooLong = (bytes: number) =>
  new AnswerLimitError(`The answer is longer than ${bytes} bytes (fewer fields, entries or long names help)`);

/** Counts one operation's use of its limits. Once they are exceeded, every later call fails with the same error. */
export class AnswerBudget {
  /** Completed values so far. Changed by the methods below only. */
  values = 0;
  /** The size of the values so far in JSON; a lower bound. Changed by the methods below only. */
  bytes = 0;
  readonly #limits: AnswerLimits;
  #failures = 0;
  #searched = 0;
  #exceeded: AnswerLimitError | null = null;
  readonly #holder: ValueHolder | null;
  /** How many values it may have before it needs more of those of the process. */
  #granted: number;
  /** How many values it may `keep` before it needs more of those of the process. */
  #keepable = valuesAtOnce;

  constructor(limits: AnswerLimits, holder: ValueHolder | null = null) {
    const { values, cost = 1 } = limits;
    this.#limits = limits;
    this.#holder = holder;
    this.#granted = holder === null ? values : Math.min(valuesAtOnce / cost, values);
  }

  /** Why the operation was ended; null while it is within its limits. */
  get exceeded(): AnswerLimitError | null {
    return this.#exceeded;
  }

  /** The number of errors that the answer leaves out. */
  get omittedErrors(): number {
    return Math.max(0, this.#failures - maxErrors);
  }

  /** Whether the next error will be in the answer; if not, it need not be located. */
  get showsErrors(): boolean {
    return this.#failures < maxErrors;
  }

  /** Charges a whole answer if it is within the limits. */
  admits(values: number, bytes: number): boolean {
    if (values > this.#granted || bytes > this.#limits.bytes) return false;
    this.values += values;
    this.bytes += bytes;
    return true;
  }

  /** Charges the fields of an object: both of the following at once. Errors: AnswerLimitError. */
  spend(values: number, bytes: number): void {
    this.values += values;
    this.bytes += bytes;
    if (this.bytes > this.#limits.bytes) throw this.#exceed();
    if (this.values > this.#granted) this.#grow();
  }

  /** Charges values before they are created. Errors: AnswerLimitError. */
  spendValues(count: number): void {
    this.values += count;
    if (this.values > this.#granted) this.#grow();
  }

  #grow(): void {
    const { values, cost = 1 } = this.#limits;
    if (this.values > values) throw this.#exceed();
    const more = Math.max(this.values - this.#granted, valuesAtOnce);
    if (!this.#take(more * cost)) throw this.#exceed();
    this.#granted += more;
  }

  /** Takes more of the process's values. False if none are left: then the operation ends. */
  #take(values: number): boolean {
    if (this.#holder?.takeValues(values) !== false) return true;
    this.#end(new AnswerLimitError('Too many large answers are being built', 'OVERLOADED'));
    return false;
  }

  /**
   * Counts memory that is not in the answer, but is used until the operation ends, in values. Returns false if there is no room;
   * then the operation ends.
   */
  keep(values: number): boolean {
    if (this.#exceeded !== null) return false;
    this.#keepable -= values;
    if (this.#keepable >= 0) return true;
    const more = Math.ceil(Math.max(-this.#keepable, valuesAtOnce));
    this.#keepable += more;
    return this.#take(more);
  }

  /** Charges bytes: a lower bound of the values' size in JSON that is cheap to compute. Errors: AnswerLimitError. */
  spendBytes(count: number): void {
    this.bytes += count;
    if (this.bytes > this.#limits.bytes) throw this.#exceed();
  }

  /** Charges the entries of a list that is filtered, sorted or searched, before that is done. Errors: AnswerLimitError. */
  spendSearch(entries: number): void {
    this.#searched += entries;
    if (this.#searched > maxSearched) throw this.#exceed();
  }

  /** Counts a failed field or entry; returns whether its error will be in the answer. Errors: AnswerLimitError. */
  countFailure(): boolean {
    this.#failures++;
    if (this.#failures > maxFailures) throw this.#exceed();
    return this.#failures <= maxErrors;
  }

  #exceed(): AnswerLimitError {
    const { values, bytes } = this.#limits;
    if (this.#exceeded !== null) return this.#exceeded;
    return this.#end(
      this.values > values
        ? new AnswerLimitError(`The answer holds more than ${values} values (fields and list entries)`)
        : this.bytes > bytes
          ? answerTooLong(bytes)
          : this.#searched > maxSearched
            ? new AnswerLimitError(`The operation searches more than ${maxSearched} list entries`)
            : new AnswerLimitError(`More than ${maxFailures} fields of the operation failed`),
    );
  }

  /** Whichever limit it was, nothing more is built. */
  #end(error: AnswerLimitError): AnswerLimitError {
    this.#exceeded = error;
    this.values = this.bytes = this.#failures = this.#searched = Infinity;
    return error;
  }
}

/** The errors of an answer; if some are omitted, a last error gives their number. */
export function boundErrors(shown: readonly GraphQLError[], omitted: number): readonly GraphQLError[] {
  if (omitted === 0) return shown;
  const message = `${omitted} more fields failed; an answer shows the first ${maxErrors} errors.`;
  return [...shown, new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED' } })];
}
