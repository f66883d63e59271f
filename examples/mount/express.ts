import { createBankql } from 'bankql';
import express from 'express';

const bankql = await createBankql({ environment: process.env });

/** `express.json()` has read the body: bankql takes it from `request.body`. */
export const app = express()
  .use(express.json({ type: ['application/json', 'application/graphql-response+json'] }))
  .get('/', (_request, response) => void response.send('my app'))
  .all('/graphql', bankql.node);
export const close = bankql.close;
