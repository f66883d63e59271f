import { RESTDataSource } from '@apollo/datasource-rest';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { type BankContext, credentialsIn, resolvers, typeDefs } from './bank-schema.ts';

/**
 * Apollo Server 5, with its own data source for REST and no other package. The data source requests each path once
 * in a request.
 */

class BankApi extends RESTDataSource {
  override baseURL = process.env.BANK_URL;
  readonly read = (path: string) => this.get(path);
  readonly #headers: Record<string, string>;

  constructor(headers: Record<string, string>) {
    super();
    this.#headers = headers;
  }

  override willSendRequest(_path: string, request: { headers: Record<string, string> }): void {
    Object.assign(request.headers, this.#headers);
  }
}

const server = new ApolloServer<BankContext>({ typeDefs, resolvers });
await startStandaloneServer(server, {
  listen: { port: Number(process.env.PORT), host: '127.0.0.1' },
  context: async ({ req }) => {
    const api = new BankApi(credentialsIn(req.headers));
    return { get: api.read };
  },
});
