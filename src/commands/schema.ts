import { printedSchema } from '../schema/schema.ts';
import { type CliContext, readWords } from './command.ts';

/** `bankql schema`: prints the schema. Gives the exit code. */
export async function printSchema({ args, write }: CliContext): Promise<number> {
  readWords('schema', args, {});
  write(printedSchema());
  return 0;
}
