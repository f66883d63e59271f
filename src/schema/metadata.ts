import { metadataEntry, metadataQuery, postMetadata } from '../contract/metadata.ts';
import { builder } from './builder.ts';

/**
 * Metadata entries, identified by the query of their set together with their id or their content. Fields:
 * contract/metadata.ts.
 */
const Metadata = builder.bankRef(metadataEntry, {
  // A set of entries is identified by the query that returns it.
  key: [{ name: 'query', schema: metadataQuery }, 'metadataId'],
  bankIdField: null,
  plural: 'metadata entries',
  list: { operation: postMetadata },
});

builder.bankNode(Metadata, { omit: ['version'] });

builder.queryField('metadata', (t) =>
  t.bankList(Metadata, {
    description: 'Metadata entries with this id.',
    args: {
      id: t.arg.id({
        required: true,
        description: 'The name of the set of entries, such as `languages` at the sandbox.',
      }),
    },
    ids: (_root, { id }) => ({ query: { id } }),
  }),
);
