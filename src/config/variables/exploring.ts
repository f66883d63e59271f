import { anyFlag, optional } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** For people who explore. */
export const exploringVariables = {
  GRAPHIQL: {
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'GraphiQL for browsers',
  },
  EXPLAIN: {
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description:
      'whether a request may ask what it costs in REST calls, with the header `x-bankql-explain` ([how](explore.md))',
  },
  INTROSPECTION: {
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'whether the schema may be asked for',
  },
} as const satisfies Record<string, Variable>;
