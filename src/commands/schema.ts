import { printedSchema } from '../schema/schema.ts';
import type { CliContext } from './command.ts';

/** `bankql schema`: prints the schema. Gives the exit code. */
export async function printSchema({ write }: CliContext): Promise<number> {
  write(printedSchema());
  return 0;
}
