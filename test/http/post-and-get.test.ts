import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { parse } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { badUserInput } from '../../src/errors.ts';
import { RequestError, retryLaterError } from '../../src/graphql/errors.ts';
import { headerValues, type IncomingHead } from '../../src/http/head.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { type ServerFixture, shareServerFixture } from '../support/server-fixture.ts';

/** A request, and the status of its answer. */
interface SentRequest {
  /** The status of the answer; 200 by default. */
  readonly status?: number;
  readonly method?: string;
  /** The target, which is appended to the server's address. */
  readonly target?: string;
  /** Headers in addition to the credentials and the content type; null removes one of these. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly body?: string | Buffer;
  readonly isChunked?: boolean;
  /** Whether only a body can have this fault. */
  readonly isOfBody?: boolean;
}

/** The manifest's document `known`. */
const persistedText = 'query Known { __typename }';

const branches = '{ bank { branches { nodes { branchId name } } } }';
const customer = '{ bank { customer(customerId: "c") { legalName } } }';
const product = 'mutation { putProduct(input: { product: { name: "n" } }) { product { productId } } }';
const json = (value: unknown) => JSON.stringify(value);
const graphqlJson = 'application/graphql-response+json';

const requests: Readonly<Record<string, SentRequest>> = {
  // Valid requests
  'no call': { body: json({ query: '{ __typename }' }) },
  'a call': { body: json({ query: branches }) },
  'a call in which the caller shows himself': { body: json({ query: customer }) },
  'a mutation': { body: json({ query: product }) },
  'a failure of the bank': { body: json({ query: '{ bank { product(productId: "gone") { name } } }' }) },
  variables: {
    body: json({
      query: 'query ($id: ID!) { bank { customer(customerId: $id) { legalName } } }',
      variables: { id: 'ö' },
    }),
  },
  'white space around the JSON': { body: ` \r\n\t${json({ query: '{ __typename }' })}\n` },
  'text beyond ASCII': { body: json({ query: '{ bank { customer(customerId: "Ωμέγα") { legalName } } }' }) },
  'a body in chunks': { body: json({ query: branches }), isChunked: true },
  'two operations, one named': {
    body: json({ query: `query A { __typename } query B ${branches}`, operationName: 'B' }),
  },
  'a text of the manifest by its id': { body: json({ documentId: 'known' }) },
  'the same by its hash': {
    body: json({ extensions: { persistedQuery: { version: 1, sha256Hash: 'known' } } }),
  },
  // Invalid requests
  'no JSON': { status: 400, body: '{"query":' },
  'no body': { status: 400 },
  'an empty body in chunks': { status: 400, isChunked: true },
  'a text alone': { status: 400, body: '"{ __typename }"' },
  null: { status: 400, body: 'null', isOfBody: true },
  'bytes that are no UTF-8': { status: 400, body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) },
  'a byte order mark': { body: `\uFEFF${json({ query: '{ __typename }' })}` },
  'two members of one name, of which the last counts': {
    body: '{"query":"{ nothing }","query":"{ bank { bankId } }"}',
  },
  'the prototype as a member': { status: 200, body: '{"query":"{ __typename }","__proto__":{"query":"{"}}' },
  'too many levels': {
    status: 400,
    isOfBody: true,
    body: `{"query":"{ __typename }","variables":{"a":${'['.repeat(40)}${']'.repeat(40)}}}`,
  },
  'a batch': { status: 400, body: json([{ query: '{ __typename }' }, { query: '{ __typename }' }]) },
  'an unknown member': { status: 200, body: json({ query: '{ __typename }', id: 1 }) },
  'a query that is no text': { status: 400, body: json({ query: 1 }) },
  'a name that is no text': { status: 400, body: json({ query: '{ __typename }', operationName: {} }) },
  'variables that are a list': { status: 400, body: json({ query: '{ __typename }', variables: [] }) },
  'variables that are a text': { status: 400, body: json({ query: '{ __typename }', variables: '{}' }) },
  'extensions that are a number': { status: 400, body: json({ query: '{ __typename }', extensions: 1 }) },
  'no query': { status: 400, body: '{}' },
  'a query of null': { status: 400, body: json({ query: null }) },
  'an empty query': { status: 400, body: json({ query: '' }) },
  'a query that does not parse': { status: 400, body: json({ query: '{' }) },
  'a query that is not valid': { status: 400, body: json({ query: '{ nothing }' }) },
  'a query that is too large': { status: 400, body: json({ query: `{ ${'a: __typename '.repeat(700)} }` }) },
  'a variable that does not fit': {
    status: 400,
    body: json({
      query: 'query ($n: Int!) { bank { branches(first: $n) { totalCount } } }',
      variables: { n: 'x' },
    }),
  },
  'a subscription': { status: 400, body: json({ query: 'subscription { bank }' }) },
  'two operations, none named': {
    status: 400,
    body: json({ query: 'query A { __typename } query B { __typename }' }),
  },
  'two operations, another named': {
    status: 400,
    body: json({ query: 'query A { __typename } query B { __typename }', operationName: 'C' }),
  },
  'an id that nobody knows': { status: 400, body: json({ documentId: 'nobody' }) },
  'bytes in the address that are no UTF-8': {
    status: 400,
    method: 'GET',
    target: '/graphql?query={__typename}&operationName=%ff',
  },
  'an empty id of a document in the address': {
    method: 'GET',
    target: '/graphql?query={__typename}&documentId=',
  },
  // Credentials
  'no credentials': {
    headers: { 'Ocp-Apim-Subscription-Key': null, 'Auth-Provider-Name': null, 'Auth-ID': null },
    body: json({ query: branches }),
  },
  'half of them': { headers: { 'Auth-ID': null }, body: json({ query: customer }) },
  'the key in the address': {
    target: '/graphql?subscription-key=of%20the%20address',
    headers: { 'Ocp-Apim-Subscription-Key': null },
    body: json({ query: branches }),
  },
  'the key in both places': {
    status: 400,
    target: '/graphql?subscription-key=k',
    body: json({ query: branches }),
  },
  'a credential twice': { status: 400, headers: { 'Auth-ID': ['a', 'b'] }, body: json({ query: branches }) },
  'a credential that is too long': {
    status: 400,
    headers: { 'Auth-ID': 'x'.repeat(256) },
    body: json({ query: branches }),
  },
  'an empty credential': { headers: { 'Auth-ID': '' }, body: json({ query: branches }) },
  'a credential beyond ASCII': { status: 400, headers: { 'Auth-ID': 'ö' }, body: json({ query: branches }) },
  // Valid requests in other forms
  'a query in the address of a POST': {
    target: `/graphql?query={__typename}`,
    body: json({ query: branches }),
  },
  'a query in the address alone': { status: 400, target: `/graphql?query={__typename}`, body: '{}' },
  'a page of another origin': {
    headers: { Origin: 'https://other.example' },
    body: json({ query: '{ __typename }' }),
  },
  'a page of a known origin': {
    headers: { Origin: 'https://app.example' },
    body: json({ query: '{ __typename }' }),
  },
  'a connection that ends': { headers: { Connection: 'close' }, body: json({ query: '{ __typename }' }) },
  'a body that is awaited': { headers: { Expect: '100-continue' }, body: json({ query: '{ __typename }' }) },
  'an expectation that is unknown': { headers: { Expect: 'x' }, body: json({ query: '{ __typename }' }) },
  // Other addresses
  'a slash at the end': { target: '/graphql/', body: json({ query: '{ __typename }' }) },
  'a fragment of the path': { status: 404, target: '/graphq', body: json({ query: '{ __typename }' }) },
  'a question mark alone': { target: '/graphql?', body: json({ query: '{ __typename }' }) },
  'the path encoded': { status: 404, target: '/%67raphql', body: json({ query: '{ __typename }' }) },
  'two slashes': { target: '//graphql', body: json({ query: '{ __typename }' }) },
  'a GET': { method: 'GET', target: '/graphql?query={__typename}', headers: { 'Content-Type': null } },
  ...Object.fromEntries(
    ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [
      method,
      {
        // HEAD is handled like a GET; this request contains no query.
        status: { OPTIONS: 204, HEAD: 400 }[method] ?? 405,
        method,
        ...(method === 'HEAD' ? {} : { body: json({ query: '{ __typename }' }) }),
      },
    ]),
  ),
};

/**
 * The content type of the body, and the status of the answer. Only JSON is accepted, because a page of another
 * origin could send some other types without a preflight.
 */
const contentTypes: readonly (readonly [string | null, number])[] = [
  [null, 415],
  ['', 415],
  ['application/json; charset=utf-8', 200],
  ['application/json;charset=UTF-8', 200],
  ['application/json ; charset = "utf-8"', 200],
  ['application/json; profile="a; charset=latin1"; charset=utf-8', 200],
  ['application/json; charset=iso-8859-1', 415],
  ['APPLICATION/JSON', 200],
  ['application/json, text/plain', 415],
  ['application/graphql-response+json', 200],
  ['application/graphql', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=b', 415],
  ['text/plain', 415],
];

/** The client's `Accept`, and the status of an invalid document: 200 for plain JSON, 400 for the media type of GraphQL. */
const accepts: readonly (readonly [string | null, 200 | 400 | 406])[] = [
  [null, 400],
  ['', 400],
  ['*/*', 200],
  ['application/*', 200],
  ['application/json', 200],
  ['Application/JSON', 200],
  ['application/json; charset=utf-8', 200],
  ['application/json; charset="UTF-8"', 200],
  ['application/json; charset=iso-8859-1', 406],
  [graphqlJson, 400],
  [`${graphqlJson}; charset=utf-8`, 400],
  [`${graphqlJson}, application/json;q=0.9`, 400],
  // The weight has precedence over the order, and the narrowest range over wider ones.
  [`application/json;q=0.5, ${graphqlJson};q=0.9`, 400],
  [`application/json;q=0.9, ${graphqlJson};q=0.5`, 200],
  [`application/json, ${graphqlJson}`, 200],
  ['application/json;q=0.5, */*;q=0.8', 400],
  [`*/*, ${graphqlJson}`, 200],
  [`application/json;q=0.1, application/*;q=0.5`, 400],
  [`application/json;q=high, ${graphqlJson}`, 200],
  ['application/*;q=0, */*', 406],
  ['application/json;q=0, */*', 400],
  ['text/html;title="a, application/json", image/png', 406],
  [`text/html;title="\\", ${graphqlJson}", application/json`, 200],
  [`${graphqlJson};q=0, application/json`, 200],
  [`${graphqlJson};q=0.000, application/json;q=0.1`, 200],
  ['application/json;q=0', 406],
  ['*/*;q=0', 406],
  ['application/json ; q=1', 200],
  ['text/html, application/json', 200],
  ['text/event-stream', 200],
  ['text/event-stream, application/json', 200],
  ['text/event-stream, application/json; charset="utf-8"', 200],
  ['multipart/mixed, application/json', 200],
  ['text/html', 406],
  ['image/png', 406],
  ['image/png, */*;q=0.1', 200],
  ['application/jsonp', 406],
  ['nonsense', 406],
  [',;=', 406],
];

const good = json({ query: '{ __typename }' });
const bad = json({ query: '{' });
/** The requests: some valid ones, and one for each possible fault. */
const handlerRequests: readonly (readonly [string, SentRequest])[] = [
  ...Object.entries(requests),
  ...contentTypes.map(([type, status]): [string, SentRequest] => [
    `Content-Type: ${type ?? 'none'}`,
    { status, headers: { 'Content-Type': type }, body: good },
  ]),
  ...accepts.flatMap(([accept, status]): [string, SentRequest][] => {
    const headers = { Accept: accept };
    const name = `Accept: ${accept ?? 'none'}`;
    return [
      [name, { status: status === 406 ? 406 : 200, headers, body: good }],
      [`${name}, of a document that is wrong`, { status, headers, body: bad }],
      [
        `${name}, of a mutation`,
        { status: status === 406 ? 406 : 200, headers, body: json({ query: product }) },
      ],
    ];
  }),
  ['Accept twice', { status: 400, headers: { Accept: ['image/png', graphqlJson] }, body: bad }],
];

/** An operation has the same answer, and makes the same calls, by POST and by GET. */

interface Seen {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
  /** The calls to the bank in the meantime. */
  readonly calls: readonly object[];
}

const generatedId = /^x-request-id: [\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The answer, without the parts that differ between two answers of the same handler. */
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
      // The order of headers and the case of their names have no meaning.
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
      parsed: new Map([[persistedText, { node: parse(persistedText), apps: ['app'] }]]),
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

/** The same operation as a GET; null for a mutation, and for a request that is only possible as a POST. */
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
  ['POST and GET have the same answer and make the same calls', options, handlerRequests],
  ['POST and GET are refused with the same answer', optionsOfRefused, refused],
])('%s', async (_what, given, rows) => {
  const fixture = await shareServerFixture(given);
  beforeEach(() => {
    fixture.bank
      .otherwise(anyAnswer)
      .on('GET /v1/api/banks/BANK/products/gone', { status: 404, body: { message: 'gone' } });
  });

  test.each(rows)('%s', async (_what, asked) => {
    const answered = await ask(fixture, asked);
    const { status = 200 } = asked;
    expect(answered.status).toBe(status);
    // If the client accepts no media type that bankql offers, no work is done.
    if (status !== 200) expect(answered.calls).toEqual([]);
    const get = asGet(asked);
    if (get !== null) expect(withoutCaching(await ask(fixture, get))).toEqual(withoutCaching(answered));
  });
});
