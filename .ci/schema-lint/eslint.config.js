import graphql from '@graphql-eslint/eslint-plugin';

/** Object types that are not records: they have no id of their own, at the bank or in GraphQL. */
const withoutId =
  'AccountHolder AccountRef Address BranchMeta KeyValue Lobby Location Message Money NameBox PageInfo Payee ' +
  'TransactionDetails TransactionMetadata UserError Viewer';

/** Clients rely on the schema, so nothing is renamed, even if a rule requires it. */
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
      // The prefix distinguishes `Account.accountId`, the bank's id, from `Account.id`, the global id.
      '@graphql-eslint/no-typename-prefix': 'off',
      // Connections have `nodes` in addition to `edges`, and a record has short lists, such as the owners of an account. Messages
      // are in a connection but are not nodes, because the bank gives them no ids.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
      // `payments` has no backward paging: the stores keep payments in the order of time, and nobody needs the oldest first.
      '@graphql-eslint/relay-arguments': ['error', { includeBoth: false }],
    },
  },
];
