import { z } from 'zod';
import { id, text } from './common-schemas.ts';
import { operation, query } from './operation.ts';
import { record } from './record.ts';
import { asWritten, nameBox } from './shared-parts.ts';

/** A metadata entry (model MetadataDef). */
export const metadataEntry = record('MetadataEntry', 'A metadata entry.', {
  code: text.describe('The code, such as `SEPA`.'),
  id: id.nullish().meta({ name: 'metadataId', description: 'The set to which the entry belongs.' }),
  postedBy: text.nullish().meta({ description: 'The person or system that entered it.', notes: asWritten }),
  text: nameBox.nullish().describe('The text for the code.'),
});
export type MetadataEntry = z.infer<typeof metadataEntry>;

/** The query body of postMetadata. */
export const metadataQuery = z.strictObject({ id: z.string() });

export const postMetadata = operation({
  id: 'postMetadata',
  ...query,
  path: '/v1/api/metadata',
  auth: 'required',
  audience: 'caller',
  body: metadataQuery,
  resource: 'metadata',
  envelope: 'metadata',
  answer: metadataEntry,
});
