import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import type { GraphiQLOptions } from 'graphql-yoga';
import { exampleOperations } from './example-operations.ts';

/**
 * The GraphiQL page, with nothing loaded from outside.
 * `headers` are what its tabs send, such as the sandbox's alice; null leaves the names to be filled in.
 */
export function graphiqlOptions(headers: Readonly<Record<string, string>> | null): GraphiQLOptions {
  const shown = JSON.stringify(
    headers ?? { 'Ocp-Apim-Subscription-Key': '', 'Auth-Provider-Name': '', 'Auth-ID': '' },
    null,
    2,
  );
  return {
    title: 'bankql',
    headers: shown,
    defaultHeaders: shown,
    defaultTabs: exampleOperations.map((query) => ({ query, headers: shown })),
    shouldPersistHeaders: false,
    subscriptionsProtocol: 'SSE',
  };
}

export { renderGraphiQL };
