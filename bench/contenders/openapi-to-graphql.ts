import { createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { GraphQLSchema } from 'graphql';
import { createYoga, type YogaInitialContext } from 'graphql-yoga';

import { openApi } from '../bank/openapi.ts';
import { credentialHeaders } from './bank-schema.ts';

/** openapi-to-graphql: a schema and resolvers made from the bank's OpenAPI document, served by yoga. */

interface OpenApiToGraphQL {
  createGraphQLSchema(
    document: unknown,
    options: {
      readonly viewer: boolean;
      readonly headers: (
        method: string,
        path: string,
        title: string,
        resolver: { readonly context: YogaInitialContext & { readonly req: IncomingMessage } },
      ) => Record<string, string>;
    },
  ): Promise<{ readonly schema: GraphQLSchema }>;
}

// Its ES module imports from `debug` what that has not, and its types are not exported.
const { createGraphQLSchema }: OpenApiToGraphQL = createRequire(import.meta.url)('openapi-to-graphql');

const { schema } = await createGraphQLSchema(openApi(process.env.BANK_URL ?? ''), {
  viewer: false,
  headers: (_method, _path, _title, { context }) =>
    Object.fromEntries(credentialHeaders.map((name) => [name, String(context.req.headers[name])])),
});

createServer(createYoga({ schema, graphiql: false })).listen(Number(process.env.PORT), '127.0.0.1');
