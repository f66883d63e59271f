import type { IncomingMessage } from 'node:http';
import { createYoga, type Plugin, useReadinessCheck } from 'graphql-yoga';
import { schema } from '../schema/schema.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { headerPairs } from './response.ts';

/** Why the process should get no traffic, in a few words; null if it may. */
export type WhyNotReady = () => string | null | Promise<string | null>;

type ReadinessCheck = Parameters<typeof useReadinessCheck>[0]['check'];

interface Routed {
  isOperation: boolean;
}

const findOperations: Plugin<object, Routed> = {
  onRequestParse({ serverContext, endResponse, fetchAPI }) {
    serverContext.isOperation = true;
    endResponse(new fetchAPI.Response());
  },
};

/**
 * Routes every request other than a POST to /graphql: yoga answers the health checks and unknown paths, and passes
 * requests for its endpoint on to `serveOperation`. It does not parse, validate or execute.
 * Errors: those of `serveOperation`.
 */
export function createYogaHandler(whyNotReady: WhyNotReady) {
  const check: ReadinessCheck = async ({ fetchAPI }) => {
    const reason = await whyNotReady();
    if (reason === null) return true;
    return new fetchAPI.Response(`${reason}\n`, {
      status: 503,
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
    });
  };
  const yoga = createYoga<Routed>({
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
    plugins: [useReadinessCheck({ endpoint: '/ready', check }), findOperations],
  });
  return async (
    req: IncomingMessage,
    res: ConnectionAwareResponse,
    headers: readonly string[],
    serveOperation: () => Promise<void>,
  ): Promise<void> => {
    const routed: Routed = { isOperation: false };
    // Yoga's own listener would write errors to the console, and leave a client waiting whose answer failed half-way.
    const answer = await yoga.handleNodeRequestAndResponse(req, res, routed);
    if (routed.isOperation) return serveOperation();
    // Yoga's own answers are short.
    const body = Buffer.from(await answer.arrayBuffer());
    // The client may have left meanwhile, or its request has given way.
    if (res.destroyed || res.headersSent) return;
    for (const [name, value] of [...answer.headers, ...headerPairs(headers)]) res.setHeader(name, value);
    res.writeHead(answer.status).end(body);
  };
}
