import graphql from '@graphql-eslint/eslint-plugin';

/** What is an object and no record: it has no identity of its own, and the bank gives it none. */
const withoutId =
  'AccountHolder AccountRef Address BranchMeta KeyValue Lobby Location Message Money NameBox PageInfo Payee ' +
  'TransactionDetails TransactionMetadata UserError Viewer';

/** Clients rely on the schema: what is there stays, also where a rule wishes it otherwise. */
export default [
  {
    files: ['schema.graphql'],
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: 'schema.graphql' } },
    },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      '@graphql-eslint/strict-id-in-types': [
        'error',
        { exceptions: { types: withoutId.split(' '), suffixes: ['Connection', 'Edge', 'Payload'] } },
      ],
      // `Account.accountId` is the bank's id, and `Account.id` the global one: the prefix tells them apart.
      '@graphql-eslint/no-typename-prefix': 'off',
      // Connections have `nodes` beside `edges`, and a record has short lists, such as the owners of an account. The bank
      // gives messages no ids: they are in a connection, and no nodes.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
      // `payments` is read forwards only: the stores keep payments in the order of time, and nobody needs the oldest first.
      '@graphql-eslint/relay-arguments': ['error', { includeBoth: false }],
    },
  },
];
