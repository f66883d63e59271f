import { type CliContext, UsageError } from '../../src/commands/command.ts';
import { readCommandLine } from '../../src/commands/command-line.ts';
import { StartError } from '../../src/errors.ts';

export interface RunOptions extends Pick<CliContext, 'now' | 'openStore'> {
  readonly environment?: CliContext['environment'] | undefined;
  readonly sources?: CliContext['sources'] | undefined;
  /** The answer of the person at the terminal; by default there is no terminal. */
  readonly answer?: string | undefined;
}

/** What a command receives of its process. */
export const contextOf = (
  environment: CliContext['environment'],
  given: Partial<CliContext> = {},
): CliContext => ({
  environment,
  sources: new Map(),
  replica: 'test',
  isTerminal: false,
  write: () => {},
  writeError: () => {},
  onExit: () => {},
  ask: null,
  ...given,
});

/**
 * Runs a command line in this process.
 * Shape: the exit code, the output of main.ts, and the questions.
 */
export async function runCommand(
  words: readonly string[],
  { environment = {}, answer, ...given }: RunOptions = {},
) {
  const output: string[] = [];
  const errors: string[] = [];
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return answer ?? '';
  };
  const context = contextOf(environment, {
    ...given,
    sources: given.sources ?? new Map(),
    write: (text: string) => void output.push(text),
    writeError: (text: string) => void errors.push(text),
    ask: answer === undefined ? null : ask,
  });
  let failureCode = 1;
  const run = async () => {
    const invocation = readCommandLine(words);
    if (typeof invocation === 'string') return output.push(invocation) && 0;
    failureCode = invocation.failureCode ?? failureCode;
    return invocation.run(context);
  };
  const code = await run().catch((error: unknown) => {
    if (!(error instanceof StartError)) throw error;
    errors.push(`${error.message}\n`);
    return error instanceof UsageError ? 2 : failureCode;
  });
  const told = { code, output: output.join(''), errors: errors.join('') };
  return { ...told, ...(answer === undefined ? {} : { asked }) };
}
