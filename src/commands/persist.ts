import { readConfig } from '../config/config.ts';
import { StartError } from '../config/start-error.ts';
import { PersistOptionError, runPersist } from '../engine/persisted-command.ts';
import type { CliContext } from './cli-context.ts';

/** `bankql persist`: makes a manifest of documents. Gives the exit code. */
export async function makePersisted({ environment, args, write }: CliContext): Promise<number> {
  // Nothing but the limits of documents is asked for: apps are built where there is no bank.
  const limits = Object.entries(environment).filter(([name]) => name.startsWith('LIMIT_'));
  try {
    return await runPersist(args, readConfig(Object.fromEntries(limits)).documentLimits, write);
  } catch (error) {
    if (error instanceof PersistOptionError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
