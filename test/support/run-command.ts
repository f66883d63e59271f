import type { CliContext, Service } from '../../src/commands/command.ts';
import { StartError } from '../../src/errors.ts';

export interface RunOptions {
  readonly environment?: CliContext['environment'] | undefined;
  readonly sources?: CliContext['sources'] | undefined;
  /** What whoever sits at the terminal answers; nobody does if it is left out. */
  readonly answer?: string | undefined;
}

/** The parts of a process that a command receives. */
export const contextOf = (
  environment: CliContext['environment'],
  given: Partial<CliContext> = {},
): CliContext => ({
  environment,
  sources: new Map(),
  args: [],
  replica: 'test',
  isTerminal: false,
  write: () => {},
  writeError: () => {},
  onExit: () => {},
  ask: null,
  ...given,
});

/** Runs a command in this process. Shape: the exit code, what main.ts writes, and what was asked. */
export async function runCommand(
  run: (context: CliContext) => Promise<Service | number>,
  args: readonly string[],
  { environment = {}, sources = new Map(), answer }: RunOptions = {},
) {
  const output: string[] = [];
  const errors: string[] = [];
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return answer ?? '';
  };
  const given = {
    sources,
    args,
    write: (text: string) => void output.push(text),
    writeError: (text: string) => void errors.push(text),
    ask: answer === undefined ? null : ask,
  };
  const code = await run(contextOf(environment, given)).catch((error: unknown) => {
    if (!(error instanceof StartError)) throw error;
    errors.push(`${error.message}\n`);
    return 1;
  });
  const told = { code, output: output.join(''), errors: errors.join('') };
  return { ...told, ...(answer === undefined ? {} : { asked }) };
}
