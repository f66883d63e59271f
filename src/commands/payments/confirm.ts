import { CommandError, type OperatorContext } from './context.ts';

/**
 * Asks before anything is written; `--yes` has answered already.
 * Errors: CommandError where the answer is not yes, or nobody can be asked.
 */
export async function confirm(
  { ask }: Pick<OperatorContext, 'ask'>,
  question: string,
  isConfirmed: boolean,
): Promise<void> {
  if (isConfirmed) return;
  if (ask === null)
    throw new CommandError(
      `${question} Nobody is at a terminal to be asked: say --yes. Nothing was written.`,
    );
  const answer = await ask(`${question} [yes/no] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was written.');
}
