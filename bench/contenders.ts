import { resolve } from 'node:path';
import { withLimits } from '../test/support/limits.ts';
import { bankId } from './bank/records.ts';
import { flatQuestion, type Question } from './contenders/flat-questions.ts';
import type { Shape } from './shapes.ts';

/** A server that answers the bench's queries from the bank. */
export interface Contender {
  readonly name: string;
  readonly title: string;
  /** The program, as a path from this folder. */
  readonly program: string;
  /** Whether it must make exactly the necessary calls: a round with any other number fails. */
  readonly isExact?: boolean;
  /** The variable with the bank's address (default: `BANK_URL`), and further variables, besides `PORT` and `BANK_ID`. */
  readonly bankVariable?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Converts a shape's query for a contender whose schema is not bankql's. */
  readonly questionFor?: (shape: Shape) => Promise<Question>;
}

/** Raises only the limits with which bankql would refuse the queries for a hundred accounts or for 5,000 branches. */
export const raisedLimits = {
  MAX_REST_CALLS: '250',
  ...withLimits({ publicCacheMs: 0, queryTokens: 5000, queryAliases: 100, queryFields: 2000 }),
} as const;

export const limit: Contender = {
  name: 'limit',
  title: 'the limit',
  program: 'contenders/limit.ts',
  isExact: true,
};

/**
 * bankql as it is released, with every protection on, and with SQLite in a temporary folder. The cache of public data is off,
 * because with it a list of branches would cost no REST call. Successful requests are not logged, as with the other contenders.
 * The load comes from 2,048 callers of one network address. The gate lets such an address use three eighths of BANK_CONNECTIONS for
 * one bank operation: 64 of 171, which is the number of connections of the contender `limit`.
 */
export const bankql: Contender = {
  name: 'bankql',
  title: 'bankql',
  program: '../test/support/main.ts',
  isExact: true,
  bankVariable: 'BANK_BASE_URL',
  environment: {
    ...withLimits({ publicCacheMs: 0 }),
    STATE_URL: 'memory:',
    LOG_LEVEL: 'warn',
    BANK_CONNECTIONS: '171',
  },
};

/** The contenders, in the order of the tables. */
export const contenders: readonly Contender[] = [
  limit,
  bankql,
  { name: 'yoga', title: 'yoga, fetch, dataloader', program: 'contenders/yoga.ts' },
  { name: 'mercurius', title: 'mercurius + JIT', program: 'contenders/mercurius.ts' },
  { name: 'apollo', title: 'Apollo Server 5 + datasource-rest', program: 'contenders/apollo.ts' },
  {
    ...{ name: 'hive-gateway', title: 'Hive Gateway (GraphQL Mesh)', program: 'contenders/hive-gateway.ts' },
    questionFor: flatQuestion,
  },
];

/** Another checkout of bankql, to measure the cost of a change. */
export const bankqlOf = (checkout: string): Contender => ({
  ...bankql,
  name: 'before',
  title: 'bankql before',
  program: resolve(checkout, 'test/support/main.ts'),
});

/** The command and the variables with which a contender is started for a bank, at a port. */
export const launch = (
  { program, bankVariable = 'BANK_URL', environment }: Contender,
  bankUrl: string,
  port: number,
) => ({
  command: [process.execPath, resolve(import.meta.dirname, program)],
  environment: { PORT: String(port), BANK_ID: bankId, [bankVariable]: bankUrl, ...environment },
});
