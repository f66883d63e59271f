import type { ExecutionResult, GraphQLError } from 'graphql';
import type { InHttp } from '../engine/refusal.ts';

export type MediaType = 'application/graphql-response+json' | 'application/json';

/**
 * How a client wants its answer, by its `Accept`: the first that bankql has, plain JSON where any will do. Null where it
 * takes neither.
 */
export function mediaTypeOf(accept: string | undefined): MediaType | null {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return 'application/json';
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (parameters.some((each) => /^charset=(?!"?utf-8"?$)/.test(each) || /^q=0(\.0*)?$/.test(each)))
      continue;
    if (type === 'application/graphql-response+json') return type;
    if (type === 'application/json' || type === 'application/*' || type === '*/*') return 'application/json';
  }
  return null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const contentTypes = {
  'application/json': { 'Content-Type': 'application/json; charset=utf-8' },
  'application/graphql-response+json': {
    'Content-Type': 'application/graphql-response+json; charset=utf-8',
  },
} as const satisfies Record<MediaType, object>;

/** An answer of GraphQL as one of HTTP, as the specification of GraphQL over HTTP has it. */
export function httpAnswerOf(result: ExecutionResult, mediaType: MediaType): HttpAnswer {
  const headers = contentTypes[mediaType];
  if (result.errors === undefined) return { status: 200, headers, body: JSON.stringify(result) };
  const said = result.errors.flatMap(httpOf);
  const statuses = said
    .filter(({ isOfDocument }) => !(isOfDocument && mediaType === 'application/json'))
    .map(({ status }) => status);
  return {
    status: Math.max(200, ...statuses),
    headers: Object.assign({}, headers, ...said.map((http) => http.headers)),
    body: JSON.stringify({ ...result, errors: result.errors.map(shown) }),
  };
}

const httpOf = ({ extensions: { http } }: GraphQLError): InHttp[] => (isInHttp(http) ? [http] : []);

export const isInHttp = (http: unknown): http is InHttp =>
  typeof http === 'object' && http !== null && 'status' in http && typeof http.status === 'number';

/** An error as the client sees it: what is said to the door stays here. */
function shown({ message, locations, path, extensions: { http: _, ...extensions } }: GraphQLError) {
  return { message, locations, path, extensions };
}
