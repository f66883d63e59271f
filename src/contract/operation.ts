import type { z } from 'zod';

/** Which auth headers an operation takes: marked A (`required`), a (`optional`), or unmarked (`none`). */
export type Auth = 'required' | 'optional' | 'none';

/**
 * What an operation does at the bank.
 * - `read`: changes nothing, the POST queries included.
 * - `write`: changes a record.
 * - `payment`: moves money, or asks for it: sent at most once for an idempotency key.
 */
export type Kind = 'read' | 'write' | 'payment';

/**
 * One REST operation: a row of the table that the client, the loaders, the sandbox bank, the docs and the
 * tests are made from.
 */
export interface Operation {
  /** The specification's name of the operation; it is what errors, logs and metrics call it. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  /** The path template below the bank's address, with `{NAME}` for each id. */
  readonly path: string;
  /** Marked T: every call carries a fresh `Track-ID`. */
  readonly tracked: boolean;
  readonly auth: Auth;
  readonly kind: Kind;
  /** Whose data it reads or changes: `public` is the same for every caller. */
  readonly audience: 'caller' | 'public';
  /** The shape of the request's body; null where the operation has none. */
  readonly body: z.ZodObject | null;
  /** What it answers, in the singular: banks that wrap a record, or name a list otherwise, do it under this name. */
  readonly resource: string;
  /** The key under which an answer holds its list; null where the answer is the record itself. */
  readonly envelope: string | null;
  /** The shape of the answer's record, or of each entry of the list; null where no answer is specified. */
  readonly answer: z.ZodObject | null;
}

/** Keeps a row's literal types, from which those of its ids, its body and its answer follow. */
export const operation = <const T extends Operation>(row: T): T => row;

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** The ids that fill an operation's path template. */
export type PathIds<T extends Operation> = { readonly [Name in PathNames<T['path']>]: string };

/** An operation's request body as TypeScript sees it; undefined where it has none. */
export type Body<T extends Operation> = T['body'] extends z.ZodType ? z.infer<T['body']> : undefined;

/**
 * An operation's answer: its record, or its list without the envelope; unknown where none is specified.
 * Where the bank broke the contract in one place, an error stands in that place: see bank/response.ts.
 */
export type Answer<T extends Operation> = T['answer'] extends z.ZodType
  ? T['envelope'] extends string
    ? z.infer<T['answer']>[]
    : z.infer<T['answer']>
  : unknown;
