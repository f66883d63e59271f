import type { GraphQLSchema } from 'graphql';
import { type Config, readConfig } from '../config/config.ts';
import { createDocumentCheck } from '../engine/validation.ts';
import { appSchema, printedSchema, schema } from '../schema/schema.ts';
import type { CliContext } from './command.ts';

export const servedSchema = ({ schema: name }: Pick<Config, 'schema'>): GraphQLSchema =>
  name === 'app' ? appSchema() : schema;

/** The schema, and the check of documents in builds of apps. The start refuses those that use introspection if that is off. */
export function documentCheckOf(config: Config) {
  const served = servedSchema(config);
  const { documentLimits } = config.server;
  return { served, check: createDocumentCheck({ schema: served, documentLimits, introspection: true }) };
}

/** `bankql schema`: prints the schema, or the part that SCHEMA names. Gives the exit code. */
export async function printSchema({ environment, write }: CliContext): Promise<number> {
  write(printedSchema(servedSchema(readConfig({ SCHEMA: environment.SCHEMA }))));
  return 0;
}
