import { readConfig } from '../config/config.ts';
import { runOperatorCommand } from '../payments/operator-command.ts';
import type { Terminal } from './terminal.ts';

/** `bankql payments …`: lists payments, and settles those of unknown outcome. Gives the exit code. */
export async function managePayments({ environment, args, write, writeError }: Terminal): Promise<number> {
  const { state } = readConfig({ ...environment, SANDBOX: 'on' });
  return runOperatorCommand({ args: [...args], state, write, writeError });
}
