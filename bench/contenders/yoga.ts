import { createServer } from 'node:http';
import { makeExecutableSchema } from '@graphql-tools/schema';
import DataLoader from 'dataloader';
import { createYoga } from 'graphql-yoga';
import { type BankContext, credentialsIn, resolvers, typeDefs } from './bank-schema.ts';

/** graphql-yoga, a DataLoader for each request, and Node's own fetch: the most common combination. */

const schema = makeExecutableSchema<BankContext>({ typeDefs, resolvers });

const yoga = createYoga<object, BankContext>({
  schema,
  graphiql: false,
  context: ({ request }) => {
    const headers = credentialsIn(Object.fromEntries(request.headers));
    const loader = new DataLoader((paths: readonly string[]) =>
      Promise.all(
        paths.map(async (path) => {
          const response = await fetch(`${process.env.BANK_URL}${path}`, { headers });
          return response.ok ? response.json() : new Error(`the bank answered ${response.status}`);
        }),
      ),
    );
    return { get: (path) => loader.load(path) };
  },
});

createServer(yoga).listen(Number(process.env.PORT), '127.0.0.1');
