import type { CodegenConfig } from '@graphql-codegen/cli';

/**
 * Generates typed documents for the tests (and as an example for clients) from schema.graphql. It reads the printed schema and
 * imports no code of bankql. Generated files are not committed: `npm test` makes them.
 */
const config: CodegenConfig = {
  schema: 'schema.graphql',
  // The tests of clients have their own documents.
  documents: ['test/**/*.ts', '!test/generated/**', '!test/clients/**'],
  importExtension: '.ts',
  generates: {
    'test/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: { DateTime: 'string', Decimal: 'string' },
      },
    },
  },
};

export default config;
