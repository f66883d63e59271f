import type { IncomingMessage } from 'node:http';
import { createYoga, type Plugin, useReadinessCheck } from 'graphql-yoga';
import { schema } from '../schema/schema.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { headerPairs } from './response.ts';

/** Why the process should get no traffic, in a few words; null if it may. */
export type WhyNotReady = () => string | null | Promise<string | null>;

/** Answers a request; `headers` are those that its answer bears. */
export type YogaHandler = (
  request: IncomingMessage,
  response: ConnectionAwareResponse,
  headers: readonly string[],
) => Promise<void>;

type ReadinessCheck = Parameters<typeof useReadinessCheck>[0]['check'];

/** Yoga may find its endpoint in the normal form of a path that is another one for `isEndpoint`, such as `/graphql/.`. */
const noOperations: Plugin = {
  onRequestParse({ endResponse, fetchAPI }) {
    endResponse(new fetchAPI.Response(null, { status: 404 }));
  },
};

/**
 * Answers what is neither an operation nor a page, with yoga: the health checks and unknown paths. It does not parse, validate
 * or execute.
 */
export function createYogaHandler(whyNotReady: WhyNotReady): YogaHandler {
  const check: ReadinessCheck = async ({ fetchAPI }) => {
    const reason = await whyNotReady();
    if (reason === null) return true;
    return new fetchAPI.Response(`${reason}\n`, {
      status: 503,
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
    });
  };
  const yoga = createYoga({
    schema,
    graphqlEndpoint: '/graphql',
    healthCheckEndpoint: '/health',
    landingPage: false,
    graphiql: false,
    // No page of another origin may call, no batches, no uploads: nothing here needs them.
    cors: false,
    batching: false,
    multipart: false,
    parserAndValidationCache: false,
    logging: false,
    plugins: [useReadinessCheck({ endpoint: '/ready', check }), noOperations],
  });
  return async (req, res, headers) => {
    // Yoga would find its paths at the end of the query as well.
    req.url = req.url?.split(/[?#]/, 1)[0];
    // Yoga's own listener would write errors to the console, and leave a client waiting whose answer failed half-way.
    const answer = await yoga.handleNodeRequestAndResponse(req, res);
    // Yoga's own answers are short.
    const body = Buffer.from(await answer.arrayBuffer());
    // The client may have left meanwhile.
    if (res.destroyed || res.headersSent) return;
    for (const [name, value] of [...answer.headers, ...headerPairs(headers)]) res.setHeader(name, value);
    res.writeHead(answer.status).end(body);
  };
}
