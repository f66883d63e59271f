import { writeFileSync } from 'node:fs';
import { printedSchema } from '../src/schema/schema.ts';

writeFileSync('schema.graphql', printedSchema());
