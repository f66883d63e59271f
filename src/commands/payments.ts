import { readConfig } from '../config/config.ts';
import type { CliContext } from './cli-context.ts';
import { runOperatorCommand } from './payments/operator-command.ts';

/** `bankql payments`: finds payments, settles those of unknown outcome, saves their records. Gives the exit code. */
export async function managePayments(terminal: CliContext): Promise<number> {
  const { environment, args, write, writeError, progress, ask } = terminal;
  const { state } = readConfig({ ...environment, SANDBOX: 'on' });
  return runOperatorCommand({ args, state, write, writeError, progress, ask });
}
