import type { FastifyInstance, FastifyRequest } from 'fastify';
import { writeExactJson } from '../contract/exact-json.ts';
import { operations } from '../contract/operations.ts';
import { callerOf, checkSubscriptionKey, checkTrackId } from './credentials.ts';
import type { Database } from './database.ts';
import { faultHooks } from './faults/hooks.ts';
import type { Faults } from './faults.ts';
import { handlers } from './handlers/index.ts';
import { HttpError } from './http-error.ts';
import { bankId, staffId } from './identity.ts';
import { readBody } from './request-body.ts';

type Row = (typeof operations)[keyof typeof operations];
type Request = FastifyRequest<{ Params: Readonly<Record<string, string>> }>;

/** What the routes work on. */
export interface Bank {
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
export function addRoutes(app: FastifyInstance, bank: Bank): void {
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
