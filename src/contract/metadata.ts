import { z } from 'zod';
import { operation, query } from './operation.ts';
import { type Answer, id, part, resource, text } from './resource.ts';
import { nameBox } from './shared-parts.ts';

/** A metadata entry (model MetadataDef). */
export const metadataEntry = resource('MetadataEntry', 'A metadata entry. REST: postMetadata.', {
  code: text('code', 'The code, such as `SEPA`.', { required: 'answers' }),
  metadataId: id('id', 'The set that the entry belongs to.', { isOwnId: true }),
  postedBy: text('postedBy', 'Who entered it.', { notes: { answer: ', as the bank wrote it' } }),
  text: part('text', 'What stands for the code.', nameBox),
});
export type MetadataEntry = Answer<typeof metadataEntry>;

/** The query body of postMetadata. */
export const metadataQuery = z.strictObject({ id: z.string() });
export type MetadataQuery = z.infer<typeof metadataQuery>;

export const postMetadata = operation({
  id: 'postMetadata',
  ...query,
  path: '/v1/api/metadata',
  auth: 'required',
  audience: 'caller',
  body: metadataQuery,
  resource: 'metadata',
  envelope: 'metadata',
  answer: metadataEntry.answer,
});
