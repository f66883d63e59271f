import type { Format } from './formats.ts';

/** One variable of the environment. */
export interface Variable<T = unknown> extends Format<T> {
  /** What it is, for the documentation: Markdown in one line. */
  readonly description: string;
  /** Few operators change it: when they do, as the end of the sentence "Change it if …". Left out for the others. */
  readonly rarely?: string;
  /** The option of `bankql sandbox` that has taken its place. */
  readonly option?: string;
  /** Another name that stands before this one, as it is usual elsewhere. */
  readonly alias?: string;
  /** It holds a secret: a file may hold it instead, and nothing shows it whole. */
  readonly isSecret?: boolean;
}

/** A secret may be in a file of its own: the variable with this ending names it. */
export const fileEnding = '_FILE';
