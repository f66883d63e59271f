import { setTimeout as wait } from 'node:timers/promises';
import Fastify, { type FastifyError, type FastifyReply } from 'fastify';
import { openDatabase } from './database.ts';
import { addFaultRoutes, faultsPath } from './faults/routes.ts';
import { parseFaults } from './faults/text.ts';
import { createFaults } from './faults.ts';
import { HttpError } from './http-error.ts';
import { addRoutes } from './routes.ts';
import { seed } from './seed.ts';

/** How to run a sandbox bank. */
export interface SandboxOptions {
  /** The TCP port; 0 takes one that is free. */
  readonly port: number;
  /** `:memory:`, or the path of an SQLite file, which is made and seeded where there is none. */
  readonly database: string;
  /** Milliseconds to wait before each answer leaves; what was asked for has been done by then. */
  readonly latencyMs: number;
  /** What goes wrong from the start: a scenario's name or faults, as in docs/sandbox.md; nothing without it. */
  readonly faults?: string | undefined;
  /** The address to listen on; 127.0.0.1 where none is given. */
  readonly host?: string;
}

/** A sandbox bank that runs. */
export interface Sandbox extends AsyncDisposable {
  /** Its address, without a slash at the end: the specification's {base_url}. */
  readonly url: string;
  /** Ends it at once; requests under way are cut off. Closing it again does nothing. */
  close(): Promise<void>;
}

const bodyLimit = 100_000;

function sendError(reply: FastifyReply, code: number, message: string): FastifyReply {
  return reply.code(code).type('application/json; charset=utf-8').send(JSON.stringify({ code, message }));
}

/** A failure's status: the refusal's, or Fastify's own for what it declines (413, a broken request). */
function statusOf(error: Error | FastifyError): number {
  if (error instanceof HttpError) return error.code;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  // A Content-Type that is none at all is declined by Fastify itself; any other by us, with 400.
  return status === 415 ? 400 : (status ?? 500);
}

/**
 * Starts a bank in a box: the 20 operations over HTTP, on seeded data (see docs/sandbox.md).
 * Errors: FaultError where `faults` cannot be used; Error where the port is taken or the database cannot be opened.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const faults = createFaults(parseFaults(options.faults ?? ''));
  const database = openDatabase(options.database, seed);
  const app = Fastify({
    bodyLimit,
    // Idle connections of a client's pool would keep the server alive for minutes.
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    // Fastify's own limit of 100 characters is below the length that an id may have.
    routerOptions: { maxParamLength: 2000 },
    // Fastify's own text repeats the URL, which may hold the subscription key.
    frameworkErrors: (error, _request, reply) => sendError(reply, statusOf(error), 'The URL cannot be read'),
  });
  // Bodies stay bytes until they are parsed with all digits, and whatever type they claim to be.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler(({ method, url }, reply) =>
    sendError(reply, 404, `There is no ${method} ${url.replace(/\?.*/, '')}`),
  );
  app.setErrorHandler((error: Error, _request, reply) => sendError(reply, statusOf(error), error.message));
  // Every answer of the bank passes here, errors too.
  app.addHook('onSend', async (request) => {
    if (options.latencyMs === 0 || request.routeOptions.url === faultsPath) return;
    await wait(options.latencyMs, undefined, { ref: false });
  });
  addRoutes(app, database, faults);
  addFaultRoutes(app, faults);

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= app.close().then(() => database.close());
    return closed;
  };
  try {
    const url = await app.listen({ port: options.port, host: options.host ?? '127.0.0.1' });
    return { url, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
