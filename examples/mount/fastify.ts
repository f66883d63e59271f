import { createBankql } from 'bankql';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';

const bankql = await createBankql({ environment: process.env });

/** Fastify has read the body. bankql writes the answer itself. */
function graphql(request: FastifyRequest, reply: FastifyReply) {
  reply.hijack();
  return bankql.node(Object.assign(request.raw, { body: request.body }), reply.raw);
}

export const app = fastify();
app.get('/', () => 'my app');
app.all('/graphql', graphql);
// This route serves the files of GraphiQL.
app.get('/graphql/*', graphql);
export const close = bankql.close;
