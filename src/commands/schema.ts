import type { Config } from '../config/config.ts';
import { createDocumentCheck } from '../engine/validation.ts';
import { printedSchema, schema } from '../schema/schema.ts';
import type { CliContext } from './command.ts';

/** The check of documents in builds of apps. The start refuses those that use introspection if that is off. */
export function documentCheckOf(config: Config) {
  const { documentLimits } = config.server;
  return createDocumentCheck({ schema, documentLimits, introspection: true });
}

/** `bankql schema`: prints the schema. Gives the exit code. */
export async function printSchema({ write }: CliContext): Promise<number> {
  write(printedSchema());
  return 0;
}
