import { setTimeout as wait } from 'node:timers/promises';
import Fastify, { type FastifyError, type FastifyReply } from 'fastify';
import { openDatabase } from './database.ts';
import { addFaultRoutes } from './faults/routes.ts';
import { parseFaults } from './faults/text.ts';
import { createFaults } from './faults.ts';
import { HttpError } from './http-error.ts';
import { addLocalOnlyRule } from './local-only.ts';
import { addResetRoute } from './reset.ts';
import { addRoutes } from './routes.ts';
import { readScenario } from './scenario.ts';
import { seedOf } from './seed.ts';

/** How to run a sandbox bank. */
export interface SandboxOptions {
  /** The TCP port; 0 picks a free one. */
  readonly port: number;
  /** `:memory:`, or the path of a SQLite file, which is created and seeded if it is missing. */
  readonly database: string;
  /** Milliseconds to wait before each answer leaves; what was asked for has been done by then. */
  readonly latencyMs: number;
  /** The faults from the start: a scenario's name or a list, as in docs/sandbox.md; none by default. */
  readonly faults?: string | undefined;
  /** The initial data: a scenario's name or a JSON file, as in docs/sandbox.md; `standard` by default. */
  readonly scenario?: string | undefined;
  /**
   * A fixed time, in milliseconds since 1970: the clock stands still, and dates of the seed are relative to it. By
   * default the clock runs, and they are relative to the start.
   */
  readonly now?: number | undefined;
  /** The address to listen on; 127.0.0.1 where none is given. */
  readonly host?: string;
}

/** A sandbox bank that runs. */
export interface Sandbox extends AsyncDisposable {
  /** Its address, without a slash at the end: the specification's {base_url}. */
  readonly url: string;
  /** Stops it at once; requests in progress are cut off. Closing it again does nothing. */
  close(): Promise<void>;
}

const bodyLimit = 100_000;

function noSchemas(): never {
  throw new Error('The sandbox has no JSON schemas');
}

function sendError(reply: FastifyReply, code: number, message: string): FastifyReply {
  return reply.code(code).type('application/json; charset=utf-8').send(JSON.stringify({ code, message }));
}

/** A failure's status: the refusal's, or Fastify's own for what it declines (413, a broken request). */
function statusOf(error: Error | FastifyError): number {
  if (error instanceof HttpError) return error.code;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  // Fastify itself declines a malformed Content-Type; any other is declined by the sandbox, with 400.
  return status === 415 ? 400 : (status ?? 500);
}

/**
 * Starts a sandbox bank: the 20 operations over HTTP, on seeded data (see docs/sandbox.md).
 * Errors: FaultError where `faults` cannot be used, ScenarioError where `scenario` cannot, DatabaseError where the
 *         database is another version's; Error where the port is taken or the database cannot be opened.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const now = () => options.now ?? Date.now();
  const scenario = readScenario(options.scenario ?? 'standard');
  const initialFaults = parseFaults(options.faults ?? scenario.faults ?? '');
  const faults = createFaults(initialFaults);
  const database = openDatabase(options.database, seedOf(scenario, now()));
  const app = Fastify({
    bodyLimit,
    // Idle connections of a client's pool would keep the server alive for minutes.
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    // Fastify's own limit of 100 characters is below the length that an id may have.
    routerOptions: { maxParamLength: 2000 },
    // Without these Fastify loads the compilers of JSON schemas at the start, 130 modules; no route here has a schema.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
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
  const host = options.host ?? '127.0.0.1';
  addLocalOnlyRule(app, host);
  // Every answer of the bank passes here, errors too.
  app.addHook('onSend', async (request) => {
    if (options.latencyMs === 0 || request.routeOptions.url?.startsWith('/sandbox/')) return;
    await wait(options.latencyMs, undefined, { ref: false });
  });
  addRoutes(app, { database, faults, now });
  addFaultRoutes(app, faults);
  addResetRoute(app, () => {
    database.reset(seedOf(scenario, now()));
    faults.replace(initialFaults);
  });

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= app.close().then(() => database.close());
    return closed;
  };
  try {
    const url = await app.listen({ port: options.port, host });
    return { url, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
