import type { Format } from './formats.ts';

/** One variable of the environment. */
export interface Variable<T = unknown> extends Format<T> {
  /** What it is, for the documentation: Markdown in one line. */
  readonly description: string;
}
