import type { IncrementalForm } from '../engine/context.ts';
import { RequestError } from '../engine/errors.ts';
import { type MediaRange, mediaRanges, preferredType } from './accept-header.ts';

/** How a client takes answers, by its `Accept`. */
export interface Accepted {
  /** How it takes one result; null if it takes only a stream. */
  readonly mediaType: MediaType | null;
  /** How it takes several results; null if it takes only one. */
  readonly stream: IncrementalStream | null;
}

export const acceptedBy = (accept: string | undefined): Accepted => ({
  mediaType: negotiateMediaType(accept),
  stream: incrementalStreamOf(accept),
});

export type MediaType = 'application/graphql-response+json' | 'application/json';

/** Plain JSON first: clients that accept anything get it. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * The media type that a client wants most, by its `Accept`; without one, the type of GraphQL over HTTP since 2025. Null if
 * it accepts neither.
 */
function negotiateMediaType(accept: string | undefined): MediaType | null {
  if (!accept) return 'application/graphql-response+json';
  if (accept === '*/*' || accept === 'application/json') return 'application/json';
  return preferredType(accept, mediaTypes);
}

/** For a client that takes neither. */
export const notAcceptable = () =>
  new RequestError('BAD_USER_INPUT', 'An answer is JSON in UTF-8: accept application/json.', {
    http: { status: 406 },
  });

/** Media types in which several results can be answered, one after the other. */
type StreamType = 'text/event-stream' | 'multipart/mixed';

interface IncrementalStream {
  readonly type: StreamType;
  readonly form: IncrementalForm;
  /** The parameter by which the client asked for the form, which its answer repeats. */
  readonly spec: string;
}

/**
 * How a client takes the results of @defer and @stream, by its `Accept`; null if it does not. A client that names no form
 * of them gets that of 2022, which such clients know, for example urql.
 */
function incrementalStreamOf(accept: string | undefined): IncrementalStream | null {
  if (accept === undefined || !/event-stream|multipart/i.test(accept)) return null;
  const wanted = mediaRanges(accept).filter(({ weight }) => weight > 0);
  for (const { type, parameters } of wanted.toSorted((a, b) => b.weight - a.weight)) {
    if (type !== 'text/event-stream' && type !== 'multipart/mixed') continue;
    const named = namedForm(parameters);
    if (named !== null) return { type, ...named };
  }
  return null;
}

const old = { spec: 'deferSpec=20220824', form: '20220824' } as const;

/** The names of the forms. Two are of one form: 3283f8a is the commit of the specification that v0.2 is. */
const namedForms: readonly Omit<IncrementalStream, 'type'>[] = [
  { spec: 'incrementalSpec=v0.2', form: 'v0.2' },
  { spec: 'incrementalDeliverySpec=3283f8a', form: 'v0.2' },
  old,
];

/** Null for a form that bankql does not have. */
function namedForm(parameters: MediaRange['parameters']): Omit<IncrementalStream, 'type'> | null {
  let isNamed = false;
  for (const named of namedForms) {
    const [name = '', value] = named.spec.toLowerCase().split('=');
    if (parameters.get(name) === value) return named;
    isNamed ||= parameters.has(name);
  }
  return isNamed ? null : old;
}
