import type { CodegenConfig } from '@graphql-codegen/cli';

/**
 * Generates the types for each `graphql(…)` of the views. Outside this repository, the schema is
 * node_modules/bankql/schema.graphql.
 */
const config: CodegenConfig = {
  schema: '../../schema.graphql',
  documents: 'src/**/*.{ts,tsx}',
  generates: {
    'src/gql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: { DateTime: 'string', Decimal: 'string' },
      },
    },
  },
};

export default config;
