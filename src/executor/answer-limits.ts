import { GraphQLError } from 'graphql';

/** The limits of the answer to one operation. */
export interface AnswerLimits {
  /** The number of completed values: leaves, objects and list entries. Each value in the answer's JSON counts as one. */
  readonly values: number;
  /** The length of the answer's JSON, in bytes. */
  readonly bytes: number;
}

/** Counts the values of all answers that the process is building. */
interface ValueHolder {
  /** Takes more values for this answer. Returns false if its caller may have no more. */
  takeValues(count: number): boolean;
}

/**
 * The number of values that an operation may hold before it takes further ones from the budget of the
 * process, and the least number that it takes at a time. The values are those of its answer, and of bank
 * answers that it keeps.
 */
export const valuesAtOnce = 1000;

export const unlimited: AnswerLimits = { values: Infinity, bytes: Infinity };

/** The bytes around a member's name in JSON: its quotes, the colon, and a comma or brace. */
export const nameBytes = 4;

/** The maximum number of errors in an answer. */
export const maxErrors = 100;
/** The maximum number of failed fields. If more fail, the operation ends. */
const maxFailures = 1000;
/** The maximum number of list entries that the searches of one operation examine: about 0.3 s of processor time. */
const maxSearched = 100_000;

/**
 * Ends an operation: LIMIT_EXCEEDED if its answer exceeds the limits, OVERLOADED if there is not enough memory for its
 * values or its client has disconnected. It is the only error in the answer.
 */
export class AnswerLimitError extends GraphQLError {
  constructor(
    message: string,
    code: 'LIMIT_EXCEEDED' | 'OVERLOADED' = 'LIMIT_EXCEEDED',
    advice = '; ask for less at a time',
  ) {
    // The error has a path from the start, so that it is not located again for each pending field.
    super(`${message}${advice}.`, { path: [], extensions: { code } });
  }

  /** Whether the same operation may succeed later, when other operations use less. */
  get isTemporary(): boolean {
    return this.extensions.code === 'OVERLOADED';
  }
}

/** Ends work that nobody waits for any more. One shared error, because hundreds of operations may be abandoned at once. */
export const clientHasLeft = new AnswerLimitError('The client has left', 'OVERLOADED', '');

/** The error for an answer whose JSON is too long. */
export const answerTooLong = (bytes: number) =>
  new AnswerLimitError(`The answer is longer than ${bytes} bytes (fewer fields, entries or long names help)`);

/** Counts one operation's use of its limits. Once they are exceeded, every later call fails with the same error. */
export class AnswerBudget {
  /**
   * The number of completed values so far. The executor adds to this number, and calls `check` if it exceeds
   * `valuesMark`.
   */
  values = 0;
  /**
   * A lower bound of the answer's JSON so far, in bytes. The executor adds to this number, and calls `check`
   * if it exceeds `bytesMark`.
   */
  bytes = 0;
  /** The number of values up to which no check is needed. */
  valuesMark = 0;
  /** The number of bytes up to which no check is needed. */
  bytesMark: number;
  readonly #limits: AnswerLimits;
  readonly #holder: ValueHolder | null;
  #failures = 0;
  #searched = 0;
  #exceeded: AnswerLimitError | null = null;
  /**
   * The number of values that the answer may have before the operation takes more from the budget of the
   * process.
   */
  #room = 0;

  constructor(limits: AnswerLimits, holder: ValueHolder | null = null) {
    this.#limits = limits;
    this.#holder = holder;
    this.bytesMark = limits.bytes;
    this.#addRoom(valuesAtOnce);
  }

  /** Why the operation has ended; null while it is within its limits. */
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

  /**
   * Charges values of the answer, and a lower bound of their length in JSON. The entries of a list are charged before
   * they are created. Errors: AnswerLimitError.
   */
  spend(values: number, bytes: number): void {
    this.values += values;
    this.bytes += bytes;
    if (this.values > this.valuesMark || this.bytes > this.bytesMark) this.check();
  }

  /**
   * Called when `valuesMark` or `bytesMark` is exceeded: takes more values, or ends the operation. Errors:
   * AnswerLimitError.
   */
  check(): void {
    const { values, bytes } = this.#limits;
    if (this.#exceeded !== null) throw this.#exceeded;
    if (this.values > values)
      throw this.#end(
        new AnswerLimitError(`The answer holds more than ${values} values (fields and list entries)`),
      );
    if (this.bytes > bytes) throw this.#end(answerTooLong(bytes));
    if (this.values > this.#room) this.#takeRoom();
    if (this.#exceeded !== null) throw this.#exceeded;
  }

  /**
   * Counts memory outside the answer that is used until the operation ends, as a number of values. Returns false, and ends the
   * operation, if there is not enough.
   */
  keep(values: number): boolean {
    if (this.#exceeded !== null) return false;
    this.#room -= values;
    if (this.values > this.#room) this.#takeRoom();
    else this.valuesMark = Math.min(this.#limits.values, this.#room);
    return this.#exceeded === null;
  }

  /**
   * Takes values from the budget that all answers of the process share. If the caller may have no more, the
   * operation ends.
   */
  #takeRoom(): void {
    const more = Math.ceil(Math.max(this.values - this.#room, valuesAtOnce));
    this.#addRoom(more);
    if (this.#holder?.takeValues(more) === false)
      this.#end(new AnswerLimitError('Too many large answers are being built', 'OVERLOADED'));
  }

  #addRoom(values: number): void {
    this.#room += values;
    this.valuesMark = Math.min(this.#limits.values, this.#room);
  }

  /** Charges the entries of a list before it is filtered, sorted or searched. Errors: AnswerLimitError. */
  spendSearch(entries: number): void {
    this.#searched += entries;
    if (this.#searched > maxSearched)
      throw (
        this.#exceeded ??
        this.#end(new AnswerLimitError(`The operation searches more than ${maxSearched} list entries`))
      );
  }

  /** Counts a failed field or entry. Returns whether its error will be in the answer. Errors: AnswerLimitError. */
  countFailure(): boolean {
    this.#failures++;
    if (this.#failures > maxFailures)
      throw (
        this.#exceeded ??
        this.#end(new AnswerLimitError(`More than ${maxFailures} fields of the operation failed`))
      );
    return this.#failures <= maxErrors;
  }

  /** Ends the operation with this error: every later check fails. */
  #end(error: AnswerLimitError): AnswerLimitError {
    this.#exceeded = error;
    this.valuesMark = this.bytesMark = -1;
    this.#failures = this.#searched = Infinity;
    return error;
  }
}

/** The errors of an answer. If some are omitted, a last error gives their number. */
export function boundErrors(shown: readonly GraphQLError[], omitted: number): readonly GraphQLError[] {
  if (omitted === 0) return shown;
  const message = `${omitted} more fields failed; an answer shows the first ${maxErrors} errors.`;
  return [...shown, new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED' } })];
}
