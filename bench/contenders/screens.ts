import { execFileSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RESTDataSource } from '@apollo/datasource-rest';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { fastify } from 'fastify';
import { GraphQLScalarType } from 'graphql';
import mercurius from 'mercurius';
import { credentialHeaders } from './bank-schema.ts';
import { readOnce } from './undici-bank.ts';

/**
 * Contenders of the session: their schema reads any path of the bank, so that it is their caches that are compared. `KIND`
 * says which contender it is.
 */

const bank = process.env.BANK_URL ?? '';
const port = Number(process.env.PORT);
const cacheSeconds = 5;

interface Context {
  get(path: string): Promise<unknown>;
}
const typeDefs = 'scalar JSON type Query { get(path: String!): JSON }';
const resolvers = {
  JSON: new GraphQLScalarType({ name: 'JSON' }),
  Query: { get: (_root: unknown, { path }: { path: string }, { get }: Context) => get(path) },
};
const credentialsOf = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(credentialHeaders.map((name) => [name, String(headers[name])]));

async function startMercurius(): Promise<void> {
  const app = fastify();
  app.register(mercurius, {
    schema: typeDefs,
    resolvers: resolvers as never,
    jit: 1,
    context: ({ headers }): Context => ({ get: readOnce(credentialsOf(headers)) }),
  });
  await app.listen({ port, host: '127.0.0.1' });
}

/** Its cache is keyed by the address alone unless told otherwise; here by the caller's credentials, too. */
async function startApollo(): Promise<void> {
  class BankApi extends RESTDataSource {
    override baseURL = bank;
    readonly #headers: Record<string, string>;
    constructor(headers: Record<string, string>, options: object) {
      super(options);
      this.#headers = headers;
    }
    override willSendRequest(_path: string, request: { headers: Record<string, string> }): void {
      Object.assign(request.headers, this.#headers);
    }
    protected override cacheKeyFor(url: URL): string {
      return JSON.stringify([Object.values(this.#headers), url.href]);
    }
    protected override cacheOptionsFor = () => ({ ttl: cacheSeconds });
    read = (path: string): Promise<unknown> => this.get(path);
  }
  const server = new ApolloServer<Context>({ typeDefs, resolvers });
  await startStandaloneServer(server, {
    listen: { port, host: '127.0.0.1' },
    context: async ({ req }) => ({
      get: new BankApi(credentialsOf(req.headers), { cache: server.cache }).read,
    }),
  });
}

async function startHiveGateway(): Promise<void> {
  const modules = join(import.meta.dirname, '../node_modules');
  const headers = credentialHeaders.map((name) => [name, `{context.headers['${name}']}`]);
  await writeFile(
    'mesh.config.mjs',
    `import { defineConfig } from '@graphql-mesh/compose-cli';
import { loadJSONSchemaSubgraph } from '@omnigraph/json-schema';
export const composeConfig = defineConfig({
  output: 'supergraph.graphql',
  subgraphs: [{ sourceHandler: loadJSONSchemaSubgraph('bank', {
    endpoint: ${JSON.stringify(bank)},
    operationHeaders: ${JSON.stringify(Object.fromEntries(headers))},
    operations: [{
      type: 'Query', field: 'get', method: 'GET', path: '{args.path}',
      argTypeMap: { path: { type: 'string' } },
      responseSchema: { type: 'object', title: 'Answer', additionalProperties: true },
    }],
  }) }],
});
`,
  );
  await writeFile(
    'gateway.config.mjs',
    `import { defineConfig } from '@graphql-hive/gateway';
export const gatewayConfig = defineConfig({
  responseCaching: {
    session: ({ headers }) => ${JSON.stringify(credentialHeaders)}.map((name) => headers.get(name)).join(' '),
    ttl: ${cacheSeconds * 1000},
  },
});
`,
  );
  // Where the configurations find what they import.
  await symlink(modules, 'node_modules');
  execFileSync(process.execPath, [join(modules, '@graphql-mesh/compose-cli/esm/bin.js')], {
    stdio: 'inherit',
  });
  const gateway = join(modules, '@graphql-hive/gateway/dist/bin.js');
  process.execve?.(
    process.execPath,
    [process.execPath, gateway, 'supergraph', '--jit', '--host', '127.0.0.1'],
    {
      ...process.env,
      LOG_LEVEL: 'warn',
    },
  );
}

const starts = { mercurius: startMercurius, apollo: startApollo, 'hive-gateway': startHiveGateway };
await starts[process.env.KIND as keyof typeof starts]();
