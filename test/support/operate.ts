import { managePayments } from '../../src/commands/payments.ts';
import { StartError } from '../../src/errors.ts';

type Options = NonNullable<Parameters<typeof managePayments>[1]> & {
  /** What whoever sits at the terminal answers; nobody does if it is left out. */
  readonly answer?: string | undefined;
};

/** Runs `bankql payments` in this process. Shape: the exit code, what main.ts writes, and what was asked. */
export async function operate(args: readonly string[], { answer, ...options }: Options) {
  const output: string[] = [];
  const errors: string[] = [];
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return answer ?? '';
  };
  const code = await managePayments(
    {
      environment: {},
      args,
      write: (text) => void output.push(text),
      writeError: (text) => void errors.push(text),
      progress: () => {},
      ask: answer === undefined ? null : ask,
    },
    options,
  ).catch((error: unknown) => {
    if (!(error instanceof StartError)) throw error;
    errors.push(`${error.message}\n`);
    return 1;
  });
  const told = { code, output: output.join(''), errors: errors.join('') };
  return { ...told, ...(answer === undefined ? {} : { asked }) };
}
