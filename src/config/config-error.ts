import { StartError } from '../errors.ts';
import { visible } from '../plain-text.ts';

export interface ConfigProblem {
  readonly variable: string;
  /** The value without credentials; empty if the variable is not set. */
  readonly value: string;
  /** What to do, as a sentence. */
  readonly remedy: string;
}

/** Variables that the process cannot start with. Each line names the variable, the value and the remedy. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(
      problems
        .map(({ variable, value, remedy }) => visible(`${variable}=${value} cannot be used: ${remedy}`))
        .join('\n'),
    );
    this.problems = problems;
  }
}
