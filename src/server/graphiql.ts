import type { GraphiQLOptions } from 'graphql-yoga';
import { exampleOperations } from './example-operations.ts';

/** Headers to be overwritten: empty ones would be refused, and with them the schema's documentation. */
const placeholders = {
  'Ocp-Apim-Subscription-Key': 'your subscription key',
  'Auth-Provider-Name': 'your auth provider',
  'Auth-ID': 'your id',
};

/** GraphiQL's tabs and what they send: `headers`, such as the sandbox's alice; null for ones to be filled in. */
export function graphiqlOptions(headers: Readonly<Record<string, string>> | null): GraphiQLOptions {
  const shown = JSON.stringify(headers ?? placeholders, null, 2);
  return {
    title: 'bankql',
    headers: shown,
    defaultHeaders: shown,
    defaultTabs: exampleOperations.map((query) => ({ query, headers: shown })),
    // What a person types there is a credential.
    shouldPersistHeaders: false,
  };
}

/** GraphiQL's page. What it is made of takes 40 MB, and time at the start: it is loaded when somebody asks for it. */
export async function renderGraphiQL(options: GraphiQLOptions): Promise<string> {
  const page = await import('@graphql-yoga/render-graphiql');
  return page.renderGraphiQL(options);
}
