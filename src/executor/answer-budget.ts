import { GraphQLError } from 'graphql';

/** How large the answer to one operation may be. */
export interface AnswerLimits {
  /** Completed values: leaves, objects and list entries, so that each value of the answer's JSON is one. */
  readonly values: number;
  /** The length of its JSON, in bytes. */
  readonly bytes: number;
}

export const unlimited: AnswerLimits = { values: Infinity, bytes: Infinity };

/** What comes with a name in JSON: its quotes, the colon, and a comma or brace. */
export const nameBytes = 4;

/** Up to this length a text is not looked at. */
const shortText = 32;

/** What a text takes in JSON without its quotes, in bytes; of a short text a lower bound. */
export const textBytes = (text: string): number =>
  text.length > shortText && /[^ !#-[\]-~]/.test(text)
    ? Buffer.byteLength(JSON.stringify(text)) - 2
    : text.length;

/**
 * How many entries a list says that it has; undefined where it does not say. One that is no array may make its entries
 * when they are asked for, and is counted before.
 */
export function lengthOf(list: object): number | undefined {
  if (Array.isArray(list)) return list.length;
  const length = 'length' in list ? list.length : 'size' in list ? list.size : undefined;
  return typeof length === 'number' ? length : undefined;
}

/** How many errors an answer shows. */
export const maxErrors = 100;
/** How many fields may fail before the operation ends. */
const maxFailures = 1000;

/** The operation's answer is larger than it may be: it ends the operation, and is the only error of its answer. */
export class AnswerLimitError extends GraphQLError {
  constructor(message: string) {
    // With a path nobody locates it again, which would be done for each field that is still under way.
    super(`${message}; ask for less at a time.`, { path: [], extensions: { code: 'LIMIT_EXCEEDED' } });
  }
}

/** Whether something thrown is an AnswerLimitError. Never throws, as `instanceof` does of a proxy that is revoked. */
export function isAnswerLimit(thrown: unknown): thrown is AnswerLimitError {
  try {
    return thrown instanceof AnswerLimitError;
  } catch {
    return false;
  }
}

/** The answer's JSON is longer than it may be. */
export const answerTooLong = (bytes: number) =>
  new AnswerLimitError(`The answer is longer than ${bytes} bytes (fewer fields, entries or long names help)`);

/** What one operation spends while its answer is made. Once exceeded, every later call fails with the same error. */
export class AnswerBudget {
  readonly #limits: AnswerLimits;
  #values = 0;
  #bytes = 0;
  #failures = 0;
  #exceeded: AnswerLimitError | null = null;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** Completed values so far. */
  get values(): number {
    return this.#values;
  }

  /** What the values so far take in JSON, at least. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Why the operation has ended; null while it is within its limits. */
  get exceeded(): AnswerLimitError | null {
    return this.#exceeded;
  }

  /** How many errors the answer does not show. */
  get omittedErrors(): number {
    return Math.max(0, this.#failures - maxErrors);
  }

  /** Whether the next error is shown; one that is not need not be located. */
  get showsErrors(): boolean {
    return this.#failures < maxErrors;
  }

  /** Spends values, before they are made. Errors: AnswerLimitError. */
  spendValues(count: number): void {
    this.#values += count;
    if (this.#values > this.#limits.values) throw this.#exceed();
  }

  /** Spends bytes: a lower bound of what the values take in JSON, which is cheap to count. Errors: AnswerLimitError. */
  spendBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#limits.bytes) throw this.#exceed();
  }

  /** Counts a field or entry that failed, and says whether its error is shown. Errors: AnswerLimitError. */
  countFailure(): boolean {
    this.#failures++;
    if (this.#failures > maxFailures) throw this.#exceed();
    return this.#failures <= maxErrors;
  }

  #exceed(): AnswerLimitError {
    const { values, bytes } = this.#limits;
    if (this.#exceeded !== null) return this.#exceeded;
    this.#exceeded =
      this.#values > values
        ? new AnswerLimitError(`The answer holds more than ${values} values (fields and list entries)`)
        : this.#bytes > bytes
          ? answerTooLong(bytes)
          : new AnswerLimitError(`More than ${maxFailures} fields of the operation failed`);
    // Whatever it was, nothing more is made.
    this.#values = this.#bytes = this.#failures = Infinity;
    return this.#exceeded;
  }
}

/** The errors of an answer, the last of which says how many it does not show. */
export function boundErrors(shown: readonly GraphQLError[], omitted: number): readonly GraphQLError[] {
  if (omitted === 0) return shown;
  const message = `${omitted} more fields failed; an answer shows the first ${maxErrors} errors.`;
  return [...shown, new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED' } })];
}
