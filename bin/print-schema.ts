import { writeFileSync } from 'node:fs';
import { printedSchema } from '../src/schema/schema.ts';
import { schemaReference } from './schema-reference.ts';

const sdl = printedSchema();
writeFileSync('schema.graphql', sdl);
writeFileSync('docs/schema.md', schemaReference(sdl));
