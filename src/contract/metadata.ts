import { z } from 'zod';
import { optional, text } from './common-schemas.ts';
import { operation } from './operation.ts';
import { nameBox } from './shared-parts.ts';

/** A metadata entry (model MetadataDef). */
export const metadataEntry = z.object({
  code: text,
  id: optional(text),
  postedBy: optional(text),
  text: optional(nameBox.answer),
});
export type MetadataEntry = z.infer<typeof metadataEntry>;

/** The query body of postMetadata. */
export const metadataQuery = z.strictObject({ id: text });
export type MetadataQuery = z.infer<typeof metadataQuery>;

export const postMetadata = operation({
  id: 'postMetadata',
  method: 'POST',
  path: '/v1/api/metadata',
  tracked: true,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: metadataQuery,
  resource: 'metadata',
  envelope: 'metadata',
  answer: metadataEntry,
});
