import { StartError } from '../config/start-error.ts';
import { printedSchema } from '../schema/schema.ts';
import type { CliContext } from './command.ts';

/** `bankql schema [--federation]`: prints the schema. Gives the exit code. */
export async function printSchema({ args, write }: CliContext): Promise<number> {
  const [option, ...more] = args;
  if (more.length > 0 || (option !== undefined && option !== '--federation'))
    throw new StartError(`bankql schema takes no "${args.join(' ')}": see bankql schema --help.`);
  write(option === undefined ? printedSchema() : await printedSubgraph());
  return 0;
}

async function printedSubgraph(): Promise<string> {
  const { schema } = await import('../schema/schema.ts');
  const { subgraphSdl } = await import('../options/federation.ts');
  return subgraphSdl(schema);
}
