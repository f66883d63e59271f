import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './schema.ts';

/** The schema as in schema.graphql: sorted, so that the order of the code has no effect. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
