import { createBankql } from 'bankql';
import fastify from 'fastify';

const bankql = await createBankql({ environment: process.env });

export const app = fastify();
app.get('/', () => 'my app');
/** Fastify has read the body, and leaves the answer to bankql. */
app.all('/graphql', (request, reply) => {
  reply.hijack();
  return bankql.node(Object.assign(request.raw, { body: request.body }), reply.raw);
});
export const close = bankql.close;
