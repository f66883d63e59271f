import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RequestError, retryLaterError } from '../../src/engine/errors.ts';
import { badUserInput } from '../../src/errors.ts';
import { headerValues, type IncomingHead } from '../../src/server/request.ts';
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
 * An operation gets the same answer by POST and by GET, and makes the same calls.
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
  authenticate: ({ rawHeaders }: IncomingHead): never => {
    throw (
      refusals[headerValues(rawHeaders, refusal.toLowerCase())[0] ?? '']?.of() ?? new Error('no such refusal')
    );
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

/** The same operation as a GET; null for a mutation, and for what only a POST can be. */
function asGet({ method, target, headers, body = '', status = 200, isChunked, isOfBody }: SentRequest) {
  const isPlain = method === undefined && target === undefined && isChunked !== true && status !== 415;
  if (!isPlain || isOfBody === true || Buffer.isBuffer(body) || body.includes('mutation')) return null;
  let asked: unknown;
  try {
    asked = JSON.parse(body);
  } catch {
    return null;
  }
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(asked))) {
    const isText = ['query', 'operationName', 'documentId'].includes(name) && typeof value === 'string';
    const isObject = ['variables', 'extensions'].includes(name) && Object(value) === value;
    if (!isText && !isObject) return null;
    parameters.set(name, isText ? value : JSON.stringify(value));
  }
  return {
    method: 'GET',
    target: `/graphql?${parameters}`,
    headers: { ...headers, 'Content-Type': null, Expect: null },
  };
}

/** Only answers to a GET are kept by caches. */
const withoutCaching = ({ headers, ...seen }: Seen) => ({
  ...seen,
  headers: headers.filter((header) => !/^(cache-control|vary): /.test(header)),
});

describe.each([
  ['POST and GET are answered, and ask the bank, the same', options, handlerRequests],
  ['POST and GET are refused the same', optionsOfRefused, refused],
])('%s', (_what, given, rows) => {
  let fixture: ServerFixture;
  beforeAll(async () => {
    fixture = await startServerFixture(given);
    fixture.bank
      .otherwise(anyAnswer)
      .on('GET /v1/api/banks/BANK/products/gone', { status: 404, body: { message: 'gone' } });
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  test.each(rows)('%s', async (_what, asked) => {
    const answered = await ask(fixture, asked);
    const { status = 200 } = asked;
    expect(answered.status).toBe(status);
    // Nothing is done for clients that take no answer that there is.
    if (status !== 200) expect(answered.calls).toEqual([]);
    const get = asGet(asked);
    if (get !== null) expect(withoutCaching(await ask(fixture, get))).toEqual(withoutCaching(answered));
  });
});

test('only a POST and a GET of the endpoint reach an operation; an unknown path is 404, whoever asks', async () => {
  const authenticate = vi.fn(() => {
    throw new RequestError('UNAUTHENTICATED', 'Who are you?', { http: { status: 401 } });
  });
  await using fixture = await startServerFixture({ authenticate });
  const statusOf = async (method: string, target: string) =>
    (await ask(fixture, { method, target, headers: {}, body: '' })).status;
  expect(await statusOf('GET', '/nowhere')).toBe(404);
  expect(await statusOf('PUT', '/health')).toBe(200);
  expect(authenticate).not.toHaveBeenCalled();
  expect(await statusOf('GET', '/graphql?query={__typename}')).toBe(401);
  expect(await statusOf('PUT', '/graphql')).toBe(401);
  await using open = await startServerFixture();
  const refused = await ask(open, { method: 'PUT', target: '/graphql', headers: {}, body: '' });
  expect([refused.status, refused.headers]).toEqual([405, expect.arrayContaining(['allow: GET, POST'])]);
});
