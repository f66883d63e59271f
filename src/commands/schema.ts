import { StartError } from '../config/start-error.ts';
import { printedSchema } from '../schema/print.ts';
import type { CliContext } from './cli-context.ts';

/** `bankql schema`: prints the schema. Gives the exit code. */
export async function printSchema({ args, write }: CliContext): Promise<number> {
  if (args.length > 0)
    throw new StartError(`bankql schema takes no "${args.join(' ')}": see bankql schema --help.`);
  write(printedSchema());
  return 0;
}
