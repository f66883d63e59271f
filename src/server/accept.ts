import { MIMEType } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { IncrementalForm } from '../engine/context.ts';
import { RequestError } from '../engine/errors.ts';
import { getOrMake } from '../get-or-make.ts';

/** How a client takes answers, by its `Accept`. */
export interface Accepted {
  /** How it takes one result; null if it takes only a stream. */
  readonly mediaType: MediaType | null;
  /** How it takes several results; null if it takes only one. */
  readonly stream: IncrementalStream | null;
}

/** Clients send few different values, and to parse one takes as long as a part of a small query. */
const known = new LRUCache<string, Accepted>({ max: 100 });

export const acceptedBy = (accept = ''): Accepted =>
  getOrMake<string, Accepted>(known, accept, () => ({
    mediaType: negotiateMediaType(accept),
    stream: incrementalStreamOf(accept),
  }));

export type MediaType = 'application/graphql-response+json' | 'application/json';

/** Plain JSON first: clients that accept anything get it. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * The media type that a client wants most, by its `Accept`; without one, the type of GraphQL over HTTP since 2025. Null if
 * it accepts neither.
 */
function negotiateMediaType(accept: string): MediaType | null {
  if (accept === '') return 'application/graphql-response+json';
  const ranges = mediaRanges(accept);
  const wanted = mediaTypes.flatMap((type) => {
    // If a type is in several ranges, the narrowest counts (RFC 9110).
    const [range] = [type, 'application/*', '*/*'].flatMap((each) => {
      const at = ranges.findIndex(({ essence }) => essence === each);
      return at === -1 ? [] : [{ at, weight: weightOf(ranges[at]) }];
    });
    return range === undefined || range.weight === 0 ? [] : [{ type, ...range }];
  });
  const [first] = wanted.toSorted((a, b) => b.weight - a.weight || a.at - b.at);
  return first?.type ?? null;
}

/** Commas within quotes do not separate. A quote that is never closed reaches to the end, so the time is linear. */
const separated = /(?:"(?:\\.|[^"\\])*(?:"|\\?$)|[^",])+/g;

/**
 * The ranges of an `Accept` in lower case, in its order. Invalid ranges, and those with another character set than UTF-8, are
 * skipped: answers have no other.
 */
export const mediaRanges = (accept: string): readonly MIMEType[] =>
  (accept.toLowerCase().match(separated) ?? [])
    .flatMap((text) => parseMediaType(text) ?? [])
    .filter(({ params }) => (params.get('charset') ?? 'utf-8') === 'utf-8');

/** Null if it is invalid. */
export function parseMediaType(text: string): MIMEType | null {
  try {
    return new MIMEType(text);
  } catch {
    return null;
  }
}

/** How much a range is wanted, above 0 to 1; 0 if it is not. */
export function weightOf(range: MIMEType | undefined): number {
  const weight = Number(range?.params.get('q') ?? 1);
  return Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1);
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
function incrementalStreamOf(accept: string): IncrementalStream | null {
  if (!/event-stream|multipart/i.test(accept)) return null;
  const wanted = mediaRanges(accept).filter((range) => weightOf(range) > 0);
  for (const { essence, params } of wanted.toSorted((a, b) => weightOf(b) - weightOf(a))) {
    if (essence !== 'text/event-stream' && essence !== 'multipart/mixed') continue;
    const named = namedForm(params);
    if (named !== null) return { type: essence, ...named };
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
function namedForm(parameters: MIMEType['params']): Omit<IncrementalStream, 'type'> | null {
  let isNamed = false;
  for (const named of namedForms) {
    const [name = '', value] = named.spec.toLowerCase().split('=');
    if (parameters.get(name) === value) return named;
    isNamed ||= parameters.has(name);
  }
  return isNamed ? null : old;
}
