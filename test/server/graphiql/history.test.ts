import { js } from '@graphql-yoga/render-graphiql/graphiql';
import { expect, test } from 'vitest';
import { historyDefault } from '../../../src/server/graphiql/page.ts';

// How the files are sent: handler.test.ts.
test('the bundle has one place where GraphiQL takes its history for the only plugin', () => {
  expect([...js.matchAll(new RegExp(historyDefault, 'g'))]).toHaveLength(1);
});
