import { postOf } from './requests.ts';

/** A client that reads the results of @defer one by one. */
export interface Reading {
  readonly response: Response;
  /** The next result; null after the last one. */
  next(): Promise<unknown>;
  /** The whole body, if it is not a stream. */
  text(): Promise<string>;
  /** Closes the connection. */
  leave(): Promise<void>;
}

/** Patterns that split a stream into its results: the texts between two boundaries, or after `data:`. */
const framings = {
  'multipart/mixed': { separator: '\r\n---', json: (text: string) => text.split('\r\n\r\n')[1] },
  'text/event-stream': {
    separator: '\n\n',
    json: (text: string) => /^event: next\ndata: (.*)$/.exec(text)?.[1],
  },
} as const;

/** Errors: an Error if there is no answer. */
export async function startReading(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<Reading> {
  const leaving = new AbortController();
  const response = await fetch(url, { ...postOf(body, headers), signal: leaving.signal });
  const type = (response.headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
  const framing = Object.hasOwn(framings, type) ? framings[type as keyof typeof framings] : null;
  const results = framing === null || response.body === null ? null : resultsOf(response.body, framing);
  return {
    response,
    async next() {
      if (results === null) throw new Error(`no stream: ${type}`);
      const { done, value } = await results.next();
      return done ? null : value;
    },
    text: () => response.text(),
    async leave() {
      leaving.abort();
      await results?.return(undefined).catch(() => {});
    },
  };
}

async function* resultsOf(
  body: ReadableStream<Uint8Array>,
  { separator, json }: (typeof framings)[keyof typeof framings],
): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator)) {
      const result = json(text.slice(0, at));
      text = text.slice(at + separator.length);
      if (result !== undefined) yield JSON.parse(result);
    }
  }
}

/** All results. */
export async function payloadsOf(reading: Reading): Promise<unknown[]> {
  const payloads: unknown[] = [];
  for (let next = await reading.next(); next !== null; next = await reading.next()) payloads.push(next);
  return payloads;
}

interface Pending {
  readonly id: string;
  readonly path: readonly (string | number)[];
}

interface Incremental {
  readonly id: string;
  readonly subPath?: readonly (string | number)[];
  readonly data?: object;
  readonly items?: readonly unknown[];
}

interface Payload {
  readonly data?: unknown;
  readonly pending?: readonly Pending[];
  readonly incremental?: readonly Incremental[];
}

/** The data of all results together. */
export function mergedData(payloads: readonly unknown[]): unknown {
  const [first, ...rest] = payloads as Payload[];
  const data = structuredClone(first?.data);
  const pending = new Map<string, Pending>();
  const at = (path: readonly (string | number)[]) =>
    path.reduce<unknown>((value, key) => Object(value)[key], data);
  for (const payload of [first, ...rest]) {
    for (const each of payload?.pending ?? []) pending.set(each.id, each);
    for (const { id, subPath = [], data: more, items } of payload?.incremental ?? []) {
      const target = at([...(pending.get(id)?.path ?? []), ...subPath]);
      if (items !== undefined) (target as unknown[]).push(...items);
      if (more !== undefined) merge(target as Record<string, unknown>, more as Record<string, unknown>);
    }
  }
  return data;
}

function merge(target: Record<string, unknown>, source: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(source)) {
    const known = target[name];
    if (typeof known === 'object' && known !== null) merge(known as typeof target, Object(value));
    else target[name] = value;
  }
}
