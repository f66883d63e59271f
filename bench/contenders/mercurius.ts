import { fastify } from 'fastify';
import mercurius, { type IResolvers } from 'mercurius';
import { Pool } from 'undici';
import { type BankContext, credentialsIn, resolvers, typeDefs } from './bank-schema.ts';

/**
 * Mercurius on fastify with its compiler (graphql-jit) on from the first request, undici for the calls, and each path requested
 * once in a request. Its own loaders are not used, because they batch only within one iteration of the event loop and would
 * request owners repeatedly.
 */

/** A pool is the way that undici recommends for many calls to one server. */
const pool = new Pool(process.env.BANK_URL ?? '', { connections: 64, allowH2: false });

async function read(path: string, headers: Record<string, string>): Promise<unknown> {
  const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
  if (statusCode !== 200) throw new Error(`the bank answered ${statusCode}`);
  return body.json();
}

/** The calls of one request: each path is requested once. */
function readOnce(headers: Record<string, string>) {
  const asked = new Map<string, Promise<unknown>>();
  return (path: string) => {
    const answer = asked.get(path) ?? read(path, headers);
    asked.set(path, answer);
    return answer;
  };
}

const app = fastify();
app.register(mercurius, {
  schema: typeDefs,
  resolvers: resolvers as unknown as IResolvers,
  jit: 1,
  context: (request): BankContext => ({ get: readOnce(credentialsIn(request.headers)) }),
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
