import { fastify } from 'fastify';
import mercurius, { type IResolvers } from 'mercurius';
import { type BankContext, credentialHeaders, resolvers, typeDefs } from './bank-schema.ts';
import { readOnce } from './undici-bank.ts';

/**
 * Mercurius on fastify with its compiler (graphql-jit) on from the first request, undici for the calls, and each path
 * asked for once in a request. (Its own loaders see one turn of the event loop, and would ask for owners again and again.)
 */

const app = fastify();
app.register(mercurius, {
  schema: typeDefs,
  resolvers: resolvers as unknown as IResolvers,
  jit: 1,
  context: (request): BankContext => {
    const headers = Object.fromEntries(
      credentialHeaders.map((name) => [name, String(request.headers[name])]),
    );
    return { get: readOnce(headers) as BankContext['get'] };
  },
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
