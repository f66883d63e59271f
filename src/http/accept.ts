import { MIMEType } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { IncrementalForm } from '../executor/defer.ts';
import { getOrMake } from '../get-or-make.ts';
import { RequestError } from '../graphql/errors.ts';

/** The formats that a client accepts, by its `Accept`. */
interface Accepted {
  /** The format of a single result; null if the client accepts only a stream. */
  readonly mediaType: MediaType | null;
  /** The format of several results; null if the client accepts only one. */
  readonly stream: IncrementalStream | null;
}

/** The parsed `Accept` headers. Clients send few different ones, and parsing takes a noticeable part of a small query's time. */
const known = new LRUCache<string, Accepted>({ max: 100 });

/** Only the beginning of an `Accept` is read: browsers send about 150 characters, and each range takes time. */
const maxAcceptLength = 1024;

export function acceptedBy(header = ''): Accepted {
  const accept = header.slice(0, maxAcceptLength);
  return getOrMake<string, Accepted>(known, accept, () => ({
    mediaType: negotiateMediaType(accept),
    stream: incrementalStreamOf(accept),
  }));
}

export type MediaType = 'application/graphql-response+json' | 'application/json';

/** Plain JSON comes first, because clients that accept anything get the first type. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * The media type that a client prefers in its `Accept`; `application/graphql-response+json` if it sends none. Null if the
 * client accepts neither type.
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

/** Matches the parts between commas, except for commas within quotes. An unclosed quote reaches to the end, so the time is linear. */
const separated = /(?:"(?:\\.|[^"\\])*(?:"|\\?$)|[^",])+/g;

/**
 * The media ranges of an `Accept`, in lower case and in the header's order. Invalid ranges are skipped, and so are those with a
 * charset other than UTF-8, because all answers are in UTF-8.
 */
export const mediaRanges = (accept: string): readonly MIMEType[] =>
  (accept.toLowerCase().match(separated) ?? [])
    .flatMap((text) => parseMediaType(text) ?? [])
    .filter(({ params }) => (params.get('charset') ?? 'utf-8') === 'utf-8');

/** Parses a media type; null if it is invalid. A run of white space becomes one space, because Node takes quadratic time for it. */
export function parseMediaType(text: string): MIMEType | null {
  try {
    return new MIMEType(text.replace(/\s+/g, ' '));
  } catch {
    return null;
  }
}

/** The weight of a range: at most 1, and 0 if the client does not accept it. */
export function weightOf(range: MIMEType | undefined): number {
  const weight = Number(range?.params.get('q') ?? 1);
  return Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1);
}

/** The error for a client that accepts neither media type. */
export const notAcceptable = () =>
  new RequestError('BAD_USER_INPUT', 'An answer is JSON in UTF-8: accept application/json.', {
    http: { status: 406 },
  });

/** Media types in which several results can be answered, one after the other. */
type StreamType = 'text/event-stream' | 'multipart/mixed';

export interface IncrementalStream {
  readonly type: StreamType;
  readonly form: IncrementalForm;
  /** The parameter with which the client requested the format; the answer repeats it. */
  readonly spec: string;
}

/**
 * The format in which a client accepts the results of @defer, by its `Accept`; null if it accepts only one
 * result. A client that names no format, such as urql, gets the incremental format of 2022.
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

/**
 * The parameters that name a format. Two of them name the format v0.2, which is commit 3283f8a of the
 * specification.
 */
const namedForms: readonly Omit<IncrementalStream, 'type'>[] = [
  { spec: 'incrementalSpec=v0.2', form: 'v0.2' },
  { spec: 'incrementalDeliverySpec=3283f8a', form: 'v0.2' },
  old,
];

/**
 * The format that the parameters of a media range name. By default, the incremental format of 2022; null if
 * they name only formats that bankql does not have.
 */
function namedForm(parameters: MIMEType['params']): Omit<IncrementalStream, 'type'> | null {
  let isNamed = false;
  for (const named of namedForms) {
    const [name = '', value] = named.spec.toLowerCase().split('=');
    if (parameters.get(name) === value) return named;
    isNamed ||= parameters.has(name);
  }
  return isNamed ? null : old;
}
