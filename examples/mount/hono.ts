import { createBankql } from 'bankql';
import { Hono } from 'hono';

const bankql = await createBankql({ environment: process.env });

/** Hono passes its requests on unchanged. The files of GraphiQL are below `/graphql`. */
export const app = new Hono()
  .get('/', (c) => c.text('my app'))
  .all('/graphql/*', (c) => bankql.fetch(c.req.raw));
export const close = bankql.close;
