import { createBankql } from 'bankql';

/**
 * A route handler, as Next.js, Remix or SvelteKit take it: a Request in and a Response out. In Next.js it is
 * `app/api/graphql/[[...file]]/route.ts`: the optional parameter is for the files of GraphiQL.
 */
const bankql = await createBankql({ environment: process.env });

export const GET = bankql.fetch;
export const POST = bankql.fetch;
export const OPTIONS = bankql.fetch;
export const close = bankql.close;
