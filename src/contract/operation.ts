import type { z } from 'zod';

/** Whether an operation takes the auth headers. In the specification: A (`required`), a (`optional`), no mark (`none`). */
export type Auth = 'required' | 'optional' | 'none';

/**
 * The effect of an operation at the bank.
 * - `read`: changes nothing. POST queries are reads too.
 * - `write`: changes a record.
 * - `payment`: moves money, or requests a transfer. It is sent at most once for an idempotency key.
 */
export type Kind = 'read' | 'write' | 'payment';

/**
 * One REST operation: a row of the table from which the client, the loaders, the
 * sandbox bank, the docs and the tests are derived.
 */
export interface Operation {
  /** The specification's name of the operation; also used in errors, logs and metrics. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  /** The path template relative to the bank's base URL, with `{NAME}` for each id. */
  readonly path: string;
  /** Whether every call carries a fresh `Track-ID` (T in the specification). */
  readonly tracked: boolean;
  readonly auth: Auth;
  readonly kind: Kind;
  /** Who may see the data that the operation reads or changes: `public` data is the same for every caller. */
  readonly audience: 'caller' | 'public';
  /** The shape of the request's body; null if the operation has none. */
  readonly body: z.ZodObject | null;
  /**
   * The singular name of the operation's records. Banks that wrap a record or rename a list use this name.
   */
  readonly resource: string;
  /** The key of the list in an answer; null if the answer is the record itself. */
  readonly envelope: string | null;
  /**
   * The shape of the answer's record, or of each entry of its list; null if
   * the specification does not define the answer.
   */
  readonly answer: z.ZodObject | null;
}

/** The common properties of similar operations. */
export const get = { method: 'GET', tracked: false, kind: 'read', body: null } as const;
/** A POST that queries and changes nothing. */
export const query = { method: 'POST', tracked: true, kind: 'read' } as const;
export const put = { method: 'PUT', tracked: true, auth: 'required', kind: 'write' } as const;

/** Declares an operation, and keeps its literal types. The types of its ids, body and answer are derived from them. */
export const operation = <const T extends Operation>(row: T): T => row;

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** The ids in an operation's path template. */
export type PathIds<T extends Operation> = { readonly [Name in PathNames<T['path']>]: string };

/** bankql's name of an id in a path: `bankId` for BANK_ID. */
type OwnName<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<Lowercase<Rest>>}`
  : Name;

/** The ids in an operation's path template, by bankql's names. */
export type OwnIds<T extends Operation> = {
  readonly [Name in PathNames<T['path']> as OwnName<Name>]: string;
};

/** bankql's name of an id in a path: `bankId` for BANK_ID. */
export const ownName = (name: string): string =>
  name.includes('_') ? name.toLowerCase().replace(/_(.)/, (_, letter) => letter.toUpperCase()) : name;

/** The type of an operation's request body; undefined if it has no body. */
export type Body<T extends Operation> = T['body'] extends z.ZodType ? z.infer<T['body']> : undefined;

/**
 * An operation's answer: its record, or its list without the envelope; unknown if the specification does not define
 * it.
 * A value that breaks the contract is replaced by an error: see bank/answer.ts.
 */
export type Answer<T extends Operation> = T['answer'] extends z.ZodType
  ? T['envelope'] extends string
    ? z.infer<T['answer']>[]
    : z.infer<T['answer']>
  : unknown;
