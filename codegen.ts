import type { CodegenConfig } from '@graphql-codegen/cli';

/**
 * Typed documents for the tests (and an example for clients), from schema.graphql. It reads the printed schema and
 * imports none of the code. Generated files are not committed: `npm test` makes them.
 */
const config: CodegenConfig = {
  schema: 'schema.graphql',
  // Clients have documents of their own.
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
