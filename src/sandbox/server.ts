import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { writeExactJson } from '../contract/exact-json.ts';
import { operations } from '../contract/operations.ts';
import { customers } from './customers.ts';
import type { Database } from './database.ts';
import { type Answer, type Faults, faultsBody, spoil } from './faults.ts';
import { handlers } from './handlers.ts';
import { bankId, sandboxHost, staffId } from './identity.ts';
import { callerOf, checkSubscriptionKey, checkTrackId, HttpError, readBody } from './request-checks.ts';
import { seededDatabase } from './seed.ts';

export interface SandboxOptions {
  /** The TCP port; 0 picks a free one. */
  readonly port: number;
  /**
   * The time at which the clock stands still, in milliseconds since 1970; by default, the clock runs. The dates of
   * the seed are relative to this time; by default, to the start.
   */
  readonly now?: number | undefined;
}

export interface Sandbox extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

const bodyLimit = 100_000;

const isLocalUrl = (url: string) =>
  /^(localhost|127(\.\d+){3}|\[(::1|::ffff:127(\.\d+){3})\])$/.test(URL.parse(url)?.hostname ?? '');

/**
 * Refuses pages of other sites that a browser on this machine has opened. Such a page may use its own name for this
 * machine (DNS rebinding), and would then read the answers too.
 * Errors: HttpError 403.
 */
function checkLocal({ host, origin }: IncomingHttpHeaders): void {
  if ((host !== undefined && !isLocalUrl(`http://${host}`)) || (origin !== undefined && !isLocalUrl(origin)))
    throw new HttpError(403, 'Only this machine may use this address of the sandbox');
}

/** Errors: HttpError 413, after the whole body was read, so that the caller gets the answer. */
async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= bodyLimit) chunks.push(chunk);
  }
  if (length > bodyLimit) throw new HttpError(413, 'The body is too large');
  return Buffer.concat(chunks);
}

type Row = (typeof operations)[keyof typeof operations];
type Ids = Readonly<Record<string, string>>;

/** The operations' paths. Paths with fewer ids come first, because `{scope}` would also match `other_accounts`. */
const routes = Object.values(operations)
  .map((row) => ({ row, path: new RegExp(`^${row.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]*)')}$`) }))
  .sort((one, other) => one.row.path.split('{').length - other.row.path.split('{').length);

/**
 * The operation that a request calls, and the ids of its path, percent-decoded.
 * Errors: HttpError 404 if no operation has the path, 400 if an id cannot be decoded.
 */
function routeOf(method: string | undefined, path: string): { readonly row: Row; readonly ids: Ids } {
  const route = routes.find((each) => each.row.method === method && each.path.test(path));
  if (route === undefined) throw new HttpError(404, `There is no ${method} ${path}`);
  const ids = Object.entries(route.path.exec(path)?.groups ?? {});
  try {
    return {
      row: route.row,
      ids: Object.fromEntries(ids.map(([name, id]) => [name, decodeURIComponent(id)])),
    };
  } catch {
    throw new HttpError(400, 'The URL cannot be read');
  }
}

interface Call {
  readonly row: Row;
  readonly ids: Ids;
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
  readonly body: Uint8Array;
}

/** The operation's answer. Errors: HttpError, in the order of the checks. */
function perform({ row, ids, headers, query, body }: Call, database: Database, at: string): unknown {
  checkSubscriptionKey(headers, new URLSearchParams(query));
  const caller = callerOf(
    row.auth,
    headers,
    (id) => id === staffId || customers(database).get(id) !== undefined,
  );
  if (row.tracked) checkTrackId(headers);
  if (ids.BANK_ID !== undefined && ids.BANK_ID !== bankId)
    throw new HttpError(404, `There is no bank ${ids.BANK_ID}`);
  const content = row.body ? readBody(row.body, headers['content-type'], body) : undefined;
  const handle: (call: never) => unknown = handlers[row.id];
  // The handler and the call belong to the same row. TypeScript cannot see this, because `row` may be any of them.
  const result = handle({ ids, body: content, caller, database, at } as never);
  return row.envelope === null ? result : { [row.envelope]: result };
}

/** Runs the work. An HttpError becomes an answer with its status; any other error is a defect, and becomes a 500. */
async function answerOf(work: () => unknown): Promise<Answer> {
  try {
    return { status: 200, json: writeExactJson(await work()) };
  } catch (error) {
    const status = error instanceof HttpError ? error.code : 500;
    const message = error instanceof Error ? error.message : String(error);
    return { status, json: JSON.stringify({ code: status, message }) };
  }
}

/**
 * Starts a sandbox bank on this machine: each operation of the contract over HTTP, on seeded data (see docs/sandbox.md).
 * `POST /sandbox/reset` restores the data and ends the faults; `PUT /sandbox/faults` sets them.
 * Errors: Error if the port is taken.
 */
export async function startSandbox({ port, now: fixed }: SandboxOptions): Promise<Sandbox> {
  const now = () => fixed ?? Date.now();
  let database = seededDatabase(now());
  let faults: Faults = {};

  function reset() {
    database = seededDatabase(now());
    faults = {};
    return {};
  }

  async function respond(request: IncomingMessage): Promise<Answer> {
    const { method, headers, url = '' } = request;
    const [path = '', query = ''] = url.split(/\?(.*)/s);
    let called: Row | undefined;
    const answer = await answerOf(async () => {
      checkLocal(headers);
      const body = await bytesOf(request);
      if (method === 'POST' && path === '/sandbox/reset') return reset();
      if (method === 'PUT' && path === '/sandbox/faults') {
        // The Content-Type is ignored, because by default curl sends that of a form.
        faults = readBody(faultsBody, undefined, body);
        return faults;
      }
      const route = routeOf(method, path);
      called = route.row;
      return perform({ ...route, headers, query, body }, database, new Date(now()).toISOString());
    });
    return called === undefined ? answer : spoil(faults, called.id, answer);
  }

  // Node's default of five seconds could close a kept connection just when a payment uses it.
  const server = createServer({ keepAliveTimeout: 72_000 }, async (request, response) => {
    const { status, json } = await respond(request);
    // The caller may have left.
    if (response.destroyed) return;
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(json);
  });
  server.listen(port, sandboxHost);
  await once(server, 'listening');
  const address = server.address();
  const listening = typeof address === 'object' ? address?.port : port;

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= server[Symbol.asyncDispose]();
    // Otherwise, the idle connections of clients' pools would keep the server alive.
    server.closeAllConnections();
    return closed;
  };
  return { url: `http://${sandboxHost}:${listening}`, close, [Symbol.asyncDispose]: close };
}
