import { setTimeout as wait } from 'node:timers/promises';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { writeExactJson } from '../contract/exact-json.ts';
import { operations } from '../contract/operations.ts';
import { type Database, openDatabase, resetDatabase } from './database.ts';
import { addFaultRoutes, faultHooks } from './fault-routes.ts';
import { createFaults, type Faults, parseFaults } from './faults.ts';
import { bankId, sandboxHost, staffId } from './identity.ts';
import { handlers } from './operation-handlers.ts';
import { callerOf, checkSubscriptionKey, checkTrackId, HttpError, readBody } from './request-checks.ts';
import { readScenario } from './scenario.ts';
import { seedOf } from './seed.ts';

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
  /** The address to listen on (default: `sandboxHost`). */
  readonly host?: string;
}

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

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

/** The sandbox's own switches are below this path, next to the bank's paths. */
const switches = '/sandbox/';

const isLoopback = (host: string) =>
  /^(localhost|127(\.\d+){3}|\[?(::1|::ffff:127(\.\d+){3})\]?)$/.test(host);

const isLocalUrl = (url: string) => isLoopback(URL.parse(url)?.hostname ?? '');

/**
 * Whether a request may come from another machine, or from a page of another site that a browser here has opened:
 * through that site's name for this machine (DNS rebinding), the page would read the answers too.
 */
const isForeign = ({ headers: { host, origin } }: FastifyRequest) =>
  (host !== undefined && !isLocalUrl(`http://${host}`)) || (origin !== undefined && !isLocalUrl(origin));

/**
 * The rule for all routes: switches are for this machine, and so is everything while the sandbox listens on loopback.
 * Errors: HttpError 403.
 */
function addLocalOnlyRule(app: FastifyInstance, host: string): void {
  const isLocalServer = isLoopback(host);
  app.addHook('onRequest', async (request) => {
    // Not the URL: the same route has several spellings.
    const isSwitch = request.routeOptions.url?.startsWith(switches) === true;
    if ((isSwitch && !isLoopback(request.ip)) || ((isSwitch || isLocalServer) && isForeign(request)))
      throw new HttpError(403, 'Only this machine may use this address of the sandbox');
  });
}

type Row = (typeof operations)[keyof typeof operations];
type Request = FastifyRequest<{ Params: Readonly<Record<string, string>> }>;

interface Bank {
  readonly database: Database;
  readonly faults: Faults;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The operation's answer to a request. Errors: HttpError, in the order of the checks. */
function answer(row: Row, request: Request, { database, now }: Bank): unknown {
  const { headers, params: ids } = request;
  checkSubscriptionKey(headers, new URL(request.url, 'http://sandbox').searchParams);
  const caller = callerOf(
    row.auth,
    headers,
    (id) => id === staffId || database.customers.get(id) !== undefined,
  );
  if (row.tracked) checkTrackId(headers);
  if (ids.BANK_ID !== undefined && ids.BANK_ID !== bankId) {
    throw new HttpError(404, `There is no bank ${ids.BANK_ID}`);
  }
  const body = row.body ? readBody(row.body, headers['content-type'], request.body) : undefined;
  const handle: (call: never) => unknown = handlers[row.id];
  // `handlers` binds each handler to its row, and the lines above made the call from that row; TypeScript
  // cannot follow the two through a loop over all rows.
  const call = { ids, body, caller, database, at: new Date(now()).toISOString() } as never;
  const result = row.kind === 'read' ? handle(call) : database.atomically(() => handle(call));
  return row.envelope === null ? result : { [row.envelope]: result };
}

/** One route for each row of the operation table, and what may go wrong with it. */
function addRoutes(app: FastifyInstance, bank: Bank): void {
  for (const row of Object.values(operations)) {
    app.route<{ Params: Readonly<Record<string, string>> }>({
      method: row.method,
      url: row.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...faultHooks(bank.faults, row.id),
      handler: async (request, reply) =>
        reply.type('application/json; charset=utf-8').send(writeExactJson(answer(row, request, bank))),
    });
  }
}

/** The initial data and faults of a sandbox with these options. Errors: SandboxError. */
export function readSandboxOptions({ scenario: named, faults }: Pick<SandboxOptions, 'scenario' | 'faults'>) {
  const scenario = readScenario(named ?? 'standard');
  return { scenario, faults: parseFaults(faults ?? scenario.faults ?? '') };
}

/**
 * Starts a sandbox bank: the 20 operations over HTTP, on seeded data (see docs/sandbox.md).
 * Shape:  `url`: its address, without a slash at the end: the specification's {base_url}. `close` stops it at once; requests in
 *         progress are cut off. Closing it again does nothing.
 * Errors: SandboxError if an option cannot be used; Error if the port is taken.
 */
export async function startSandbox(options: SandboxOptions) {
  const { host = sandboxHost } = options;
  const now = () => options.now ?? Date.now();
  const { scenario, faults: initialFaults } = readSandboxOptions(options);
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
  addLocalOnlyRule(app, host);
  // Every answer of the bank passes here, errors too.
  app.addHook('onSend', async (request) => {
    if (options.latencyMs === 0 || request.routeOptions.url?.startsWith(switches)) return;
    await wait(options.latencyMs, undefined, { ref: false });
  });
  addRoutes(app, { database, faults, now });
  addFaultRoutes(app, faults);
  // Puts every record, id and fault back to where the sandbox started.
  app.post(`${switches}reset`, (_request, reply) => {
    resetDatabase(database, seedOf(scenario, now()));
    faults.replace(initialFaults);
    return reply.code(204).send();
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
