import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { createEngine, type EngineOptions } from '../engine/engine.ts';
import { admitting, type Identify } from './caller.ts';
import { identifyByHeaders } from './credentials.ts';
import { createPostDoor } from './post-door.ts';
import type { RateLimiter } from './rate-limit.ts';
import { createFit, createRender } from './render.ts';
import { createYogaDoor, type YogaDoorOptions } from './yoga-door.ts';

export interface GraphQLOptions
  extends Omit<EngineOptions, 'unexpected'>,
    Pick<YogaDoorOptions, 'graphiqlHeaders' | 'maxRequestBytes'> {
  /** `bank` and `payments` have it around them too, where there is one: see rate-limit-bank.ts. */
  readonly rateLimiter?: RateLimiter | null;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  /** Finds out who calls, such as identity.ts; where it is left out, the request's headers say it. */
  readonly identify?: Identify | undefined;
  readonly logger: Logger;
  /** False while the process should get no traffic, because it is about to end, say: /ready then answers 503. */
  readonly isReady?: () => boolean | Promise<boolean>;
  /** Whether so many bytes of an answer may wait for their client to take them; always, where it is left out. */
  readonly hasRoomFor?: (bytes: number) => boolean;
  /** False: all goes by yoga's door. Tests of HTTP over a socket are run with each. */
  readonly hasPostDoor?: boolean;
}

export interface GraphQLServer {
  /**
   * The endpoint for node:http; `headers`, names and values in turn, are those that its answer bears. Errors: what nobody
   * expects, where the answer may have begun.
   */
  listen(request: IncomingMessage, response: ServerResponse, headers: readonly string[]): Promise<void>;
  /** The same as a Fetch handler, by yoga's door. */
  fetch(request: Request): Promise<Response>;
}

/** One engine, and the doors to it. */
export function createGraphQL(options: GraphQLOptions): GraphQLServer {
  const {
    identify,
    subscriptionKey,
    rateLimiter = null,
    logger,
    isReady = () => true,
    hasRoomFor = () => true,
  } = options;
  const engine = createEngine({
    ...options,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
  });
  const admit = admitting(identify ?? identifyByHeaders(subscriptionKey), rateLimiter);
  const answering = { engine, admit, render: createRender(engine), fit: createFit(engine, hasRoomFor) };
  const yoga = createYogaDoor({ ...options, ...answering, isReady });
  const post = createPostDoor({ ...options, ...answering });
  return {
    listen(request, response, headers) {
      const byPost = options.hasPostDoor === false ? null : post(request, response, headers);
      return byPost ?? yoga.listen(request, response, headers);
    },
    fetch: yoga.fetch,
  };
}
