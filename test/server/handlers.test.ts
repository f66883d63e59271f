import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestError, retryLaterError } from '../../src/engine/errors.ts';
import { badUserInput } from '../../src/errors.ts';
import type { IncomingRequest } from '../../src/server/request.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import {
  good,
  graphqlJson,
  handlerRequests,
  persistedText,
  type SentRequest,
} from '../support/handler-requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/**
 * A POST to /graphql goes by the handler on node:http, all else by yoga's. Who asks must not be able to tell which one it
 * was: each request here goes through both, over HTTP, and is answered with the same bytes.
 */

interface Seen {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
  /** What the bank was asked meanwhile. */
  readonly calls: readonly object[];
}

const generatedId = /^x-request-id: [\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** What is answered, without what differs from one answer to the next of the same handler. */
async function ask(fixture: ServerFixture, asked: SentRequest): Promise<Seen> {
  const { method = 'POST', target = '/graphql', body = '', isChunked = false } = asked;
  const agent = new Agent({ keepAlive: true });
  const sending = send(fixture.url, { method, agent, path: target });
  for (const [name, value] of Object.entries({
    'Content-Type': 'application/json',
    ...credentials,
    ...asked.headers,
  }))
    if (value !== null) sending.setHeader(name, value);
  if (!isChunked && body !== '') sending.setHeader('Content-Length', Buffer.byteLength(body));
  if (isChunked) sending.write(body);
  sending.end(isChunked ? undefined : body);
  try {
    const [response]: IncomingMessage[] = await once(sending, 'response');
    const chunks: Buffer[] = [];
    if (response === undefined) throw new Error('there is no answer');
    for await (const chunk of response) chunks.push(chunk);
    const { rawHeaders, statusCode = 0 } = response;
    const headers = rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : [],
    );
    return {
      status: statusCode,
      // Their order and the case of their names mean nothing.
      headers: headers
        .filter((header) => !header.startsWith('date: '))
        .map((header) => header.replace(generatedId, 'x-request-id: generated'))
        .sort(),
      body: Buffer.concat(chunks).toString('latin1'),
      calls: fixture.bank.calls
        .splice(0)
        .map(({ method, path, headers: { host: _, 'track-id': trackId, ...headers }, body }) => ({
          line: `${method} ${path}`,
          headers: { ...headers, ...(trackId === undefined ? {} : { 'track-id': 'generated' }) },
          body,
        })),
    };
  } finally {
    agent.destroy();
  }
}

const options = {
  http: { corsOrigins: new Set(['https://app.example']), onlyLocalNames: false },
  persisted: {
    documents: {
      texts: new Map([['known', persistedText]]),
      parsed: new Map([[persistedText, parse(persistedText)]]),
    },
    only: false,
  },
};

/** A caller who is refused before the body is read. */
const refusals: Readonly<Record<string, { readonly status: number; readonly of: () => Error }>> = {
  'a caller who is not known': {
    status: 401,
    of: () =>
      new RequestError('UNAUTHENTICATED', 'Who are you?', {
        http: { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } },
      }),
  },
  'a caller who has no call left': {
    status: 429,
    of: () => retryLaterError('RATE_LIMITED', 'Later.', 429, 7),
  },
  'a caller whose credentials are wrong': {
    status: 400,
    of: () => badUserInput('The header Auth-ID is empty.'),
  },
  'a caller who cannot be looked up': { status: 500, of: () => new TypeError('a fault of ours') },
};
const refusal = 'X-Refusal';
const optionsOfRefused = {
  ...options,
  authenticate: (incoming: IncomingRequest): never => {
    throw refusals[incoming.header(refusal.toLowerCase())[0] ?? '']?.of() ?? new Error('no such refusal');
  },
};
const refused = Object.entries(refusals).flatMap(([name, { status }]): [string, SentRequest][] => {
  const headers = { [refusal]: name };
  return [
    [name, { status, headers, body: good }],
    [
      `${name}, of the other media type`,
      { status, headers: { ...headers, Accept: graphqlJson }, body: good },
    ],
    [`${name} and sends chunks`, { status, headers, body: good, isChunked: true }],
    [`${name} and sends no JSON`, { status, headers, body: '{' }],
    [`${name} and takes none`, { status, headers: { ...headers, Accept: 'image/png' }, body: good }],
  ];
});

describe.each([
  ['both doors answer, and ask the bank, the same', options, handlerRequests],
  ['both doors refuse the same', optionsOfRefused, refused],
])('%s', (_what, given, rows) => {
  let post: ServerFixture;
  let yoga: ServerFixture;
  beforeAll(async () => {
    post = await startServerFixture({ ...given, hasGraphQLHandler: true });
    yoga = await startServerFixture({ ...given, hasGraphQLHandler: false });
    for (const { bank } of [post, yoga])
      bank
        .otherwise(anyAnswer)
        .on('GET /v1/api/banks/BANK/products/gone', { status: 404, body: { message: 'gone' } });
  });
  afterAll(async () => {
    await post[Symbol.asyncDispose]();
    await yoga[Symbol.asyncDispose]();
  });

  test.each(rows)('%s', async (_what, asked) => {
    const [byPost, byYoga] = await Promise.all([ask(post, asked), ask(yoga, asked)]);
    expect(byPost).toEqual(byYoga);
    const { status = 200 } = asked;
    expect(byPost.status).toBe(status);
    // Nothing is done for who takes no answer that there is.
    if (status !== 200) expect(byPost.calls).toEqual([]);
  });
});
