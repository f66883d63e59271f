import { createBankql } from 'bankql';
import express from 'express';

const bankql = await createBankql({ environment: process.env });

/** GraphQL is at the mount point. If `express.json()` comes first, bankql takes the body from `request.body`. */
export const app = express()
  .get('/', (_request, response) => void response.send('my app'))
  .use('/graphql', bankql.node);
export const close = bankql.close;
