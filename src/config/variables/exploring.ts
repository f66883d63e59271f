import { anyFlag, optional } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** For people who explore. */
export const exploringVariables = {
  GRAPHIQL: {
    rarely: 'developers explore a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'GraphiQL for browsers',
  },
  EXPLAIN: {
    rarely: 'developers explain queries against a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description:
      'whether requests may ask for their cost in REST calls with the header `x-bankql-explain` ([how](explore.md))',
  },
  INTROSPECTION: {
    rarely: 'developers explore a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'whether introspection queries are answered',
  },
} as const satisfies Record<string, Variable>;
