import { writeFileSync } from 'node:fs';
import { printedSchema } from '../src/schema/print.ts';

writeFileSync('schema.graphql', printedSchema());
