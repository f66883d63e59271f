import type { GraphQLSchema } from 'graphql';
import { type Config, readConfig } from '../config/config.ts';
import { appSchema, printedSchema, schema } from '../schema/schema.ts';
import type { CliContext } from './command.ts';

export const servedSchema = ({ schema: name }: Pick<Config, 'schema'>): GraphQLSchema =>
  name === 'app' ? appSchema() : schema;

/** `bankql schema`: prints the schema, or the part that SCHEMA names. Gives the exit code. */
export async function printSchema({ environment, write }: CliContext): Promise<number> {
  write(printedSchema(servedSchema(readConfig({ SCHEMA: environment.SCHEMA }))));
  return 0;
}
