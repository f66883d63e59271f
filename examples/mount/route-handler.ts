import { createBankql } from 'bankql';

/**
 * A route handler, as Next.js (`app/api/graphql/route.ts`), Remix or SvelteKit take it: a Request in and a Response out. The
 * host has to call it at a path that ends in `/graphql`.
 */
const bankql = await createBankql({ environment: process.env });

export const GET = bankql.fetch;
export const POST = bankql.fetch;
export const OPTIONS = bankql.fetch;
export const close = bankql.close;
