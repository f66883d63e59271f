import { readConfig } from '../config/config.ts';
import { StartError } from '../config/start-error.ts';
import { runPersistCheck } from '../engine/persisted-check.ts';
import { PersistOptionError, runPersist } from '../engine/persisted-command.ts';
import type { CliContext } from './cli-context.ts';

/** `bankql persist`: makes a manifest of documents, or checks those there are. Gives the exit code. */
export async function persist({ environment, args, write }: CliContext): Promise<number> {
  // Nothing but the limits of documents is asked for: apps are built where there is no bank.
  const limits = Object.entries(environment).filter(([name]) => name.startsWith('LIMIT_'));
  const { documentLimits } = readConfig(Object.fromEntries(limits));
  const [task, ...files] = args;
  // A folder may be called "check", too: who makes a manifest says where to.
  const isCheck = task === 'check' && !files.some((word) => word.startsWith('--out'));
  try {
    return await (isCheck
      ? runPersistCheck(files, documentLimits, write)
      : runPersist(args, documentLimits, write));
  } catch (error) {
    if (error instanceof PersistOptionError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
