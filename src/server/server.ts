import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Capacity, type CapacityLimits, type Counted, type ShedReason } from '../capacity.ts';
import { type ConnectionAwareResponse, listen } from './connection.ts';
import { createDoor, type Refused } from './door.ts';
import { createGraphQLHandler, type GraphQLServerOptions } from './handlers.ts';
import { createMount } from './mount.ts';
import type { HttpPolicyOptions, HttpRefusal } from './request.ts';
import { type OperationObserver, type RequestScope, runInRequestScope } from './request-scope.ts';

export interface ServerOptions extends GraphQLServerOptions {
  readonly host: string;
  readonly port: number;
  /** Whether another server listens for it (default: false). */
  readonly isMounted?: boolean | undefined;
  readonly capacity: CapacityLimits;
  /** How long an answer may wait to be read, in milliseconds; see connection.ts. */
  readonly writeDeadlineMs?: number | undefined;
  readonly http: Omit<HttpPolicyOptions, 'maxRequestBytes'>;
  /** How long /ready says so before the server stops to listen, in milliseconds. */
  readonly drainDelayMs?: number;
  /** Called with the reason when a request, or a part of one, is refused because callers hold too much. It must not throw. */
  readonly onShed?: (why: ShedReason) => void;
  /** Called with the status when a rule of HTTP refuses a request. It must not throw. */
  readonly onHttpRefusal?: (status: HttpRefusal) => void;
  /** Watches every request for GraphQL, also those that are not accepted. */
  readonly observer?: OperationObserver;
}

export type RunningServer = Awaited<ReturnType<typeof serve>>;

export interface ServerCloseOptions {
  /**
   * Another process listens at the same port: /ready need not warn anybody, and connections that are kept may be used once
   * more, so that none is closed under a request that is on its way.
   */
  readonly isReplaced?: boolean;
}

/** How long a client may take to use a kept connection once more, and so to learn that it ends, in milliseconds. */
const lastUseMs = 5000;

/** Serves the endpoint. Errors: what `listen` fails with, such as EADDRINUSE. */
export async function serve(options: ServerOptions) {
  const { logger, writeDeadlineMs, observer } = options;
  let isLeaving = false;
  const capacity = new Capacity(options.capacity, options.onShed);
  const graphqlOptions: GraphQLServerOptions = {
    ...options,
    whyNotReady() {
      if (isLeaving) return 'leaving';
      return options.whyNotReady?.() ?? null;
    },
  };
  let handle = createGraphQLHandler(graphqlOptions);
  const policy = { ...options.http, maxRequestBytes: options.maxRequestBytes };
  const door = createDoor({ ...options, policy });

  const logUnexpected = (error: unknown) => logger.error({ err: error }, 'unexpected error');

  function answer(request: IncomingMessage, response: ConnectionAwareResponse): void {
    const { headers, requestId, refused } = door.check(request);
    if (refused !== null) {
      refuse(response, refused);
      return;
    }
    // Only the reader of a body in chunks knows that it is too long.
    if (request.headers['transfer-encoding'] !== undefined)
      response.on('finish', () => response.statusCode === 413 && options.onHttpRefusal?.(413));
    if (response.awaitsContinue) response.writeContinue();
    const isOperation = door.isOperation(request);
    const activity = isOperation ? (observer?.begin(requestId, request) ?? null) : null;
    const scope: RequestScope = {
      requestId,
      activity,
      log: logUnexpected,
      fail(error) {
        logUnexpected(error);
        failed(response, headers);
      },
      isClosed: () => response.destroyed,
      onEnd(isFailure) {
        if (activity === null) return;
        const { headersSent, destroyed, writableFinished } = response;
        if (isFailure && !headersSent) activity.refused(500, 'INTERNAL', 0);
        else if (isFailure && !destroyed) activity.brokenOff('INTERNAL');
        const isAbandoned = destroyed && !writableFinished;
        if (isAbandoned) activity.abandoned();
        // A page, or what is not found, is no operation.
        if (isAbandoned || activity.status !== null) observer?.end(activity);
      },
    };
    runInRequestScope(scope, () => handle(request, response, headers, activity));
  }

  /**
   * Ends a request whose work failed unexpectedly. If its answer has begun, the connection is broken, so that the client
   * cannot take a part for the whole.
   */
  function failed(response: ConnectionAwareResponse, headers: readonly string[]): void {
    if (response.writableEnded || response.destroyed) return;
    if (response.headersSent) return void response.destroy();
    refuse(response, door.failure(headers));
  }

  const mount = createMount({
    door,
    answer: (...given) => handle.answer(...given),
    capacity,
    observer,
    maxRequestBytes: options.maxRequestBytes,
    logUnexpected,
  });
  const listening =
    options.isMounted === true
      ? null
      : await listen(
          options.host,
          options.port,
          (request, response) => {
            try {
              answer(request, response);
            } catch (error) {
              logUnexpected(error);
              failed(response, []);
            }
          },
          { capacity, writeDeadlineMs },
        );
  const held: Pick<Capacity, Counted | 'sockets'> = capacity;
  return {
    /** Empty if it is mounted. */
    url: listening?.url ?? '',
    fetch: mount.fetch,
    node: mount.node,
    held,
    /** Replaces the documents that can be requested by id; operations under way are not affected. */
    replaceDocuments(persisted: GraphQLServerOptions['persisted']): void {
      handle = createGraphQLHandler({ ...graphqlOptions, persisted });
    },
    /** Lets what is under way end, and serves nothing new. */
    async close({ isReplaced = false }: ServerCloseOptions = {}): Promise<void> {
      isLeaving = !isReplaced;
      // A connection that is kept alive would go on being served.
      listening?.drain();
      if (isLeaving && listening !== null) await delay(options.drainDelayMs ?? 0);
      await listening?.close(isReplaced ? lastUseMs : 0);
      await mount.idle();
    },
  };
}

/** Answers without reading the request's body. */
function refuse(response: ConnectionAwareResponse, { status, headers, body }: Refused): void {
  if (status !== 204) response.shouldKeepAlive = false;
  response.writeHead(status, [...headers]);
  response.end(body === '' ? undefined : body);
}
