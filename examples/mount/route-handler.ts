import { createBankql } from 'bankql';

/**
 * A route handler for Next.js, Remix or SvelteKit: it takes a Request and returns a Response. In Next.js the file is
 * `app/api/graphql/[[...file]]/route.ts`: the optional parameter is for the files of GraphiQL.
 */
const bankql = await createBankql({ environment: process.env });

export const GET = bankql.fetch;
export const POST = bankql.fetch;
export const OPTIONS = bankql.fetch;
export const close = bankql.close;
