import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine } from '../engine/engine.ts';
import { Refusal } from '../engine/refusal.ts';
import type { Admit } from './caller.ts';
import { type HttpAnswer, type MediaType, mediaTypeOf } from './http-answer.ts';
import { nodeIncoming } from './incoming.ts';
import type { Fit, Render } from './render.ts';
import { paramsOfBody } from './request-params.ts';

export interface PostDoorOptions {
  readonly engine: Engine;
  readonly admit: Admit;
  readonly render: Render;
  readonly fit: Fit;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
}

/**
 * The way of nearly all requests, a POST of JSON to /graphql, straight on node:http: yoga's Fetch objects and hooks cost
 * more than the rest of a request. It answers null, and does nothing, where yoga has to do it: another path or method,
 * or a client that takes no JSON.
 */
export function createPostDoor(options: PostDoorOptions) {
  return (request: IncomingMessage, response: ServerResponse, headers: Headers): Promise<void> | null => {
    const { method, url = '' } = request;
    if (method !== 'POST' || !(url === '/graphql' || url.startsWith('/graphql?'))) return null;
    const mediaType = mediaTypeOf(request.headers.accept);
    if (mediaType === null) return null;
    return serve({ request, response, mediaType, headers }, options);
  };
}

/** Headers that every answer bears, names and values in turn. */
type Headers = readonly string[];

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly mediaType: MediaType;
  readonly headers: Headers;
}

async function serve(
  { request, response, mediaType, headers }: Exchange,
  { engine, admit, render, fit, maxRequestBytes }: PostDoorOptions,
): Promise<void> {
  let answer: HttpAnswer;
  try {
    const credentials = await admit(nodeIncoming(request));
    const body = bodyAtHand(request, maxRequestBytes) ?? (await bodyOf(request, maxRequestBytes));
    const answered = engine.answer(paramsOfBody(body), { credentials, signal: () => signalOf(response) });
    answer = fit(render(answered instanceof Promise ? await answered : answered, mediaType));
  } catch (error) {
    // Nobody is there to be answered.
    if (error instanceof ClientLeft) return;
    answer = render(engine.refuse(error), mediaType);
  }
  const { status, body } = answer;
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, [...headers, ...answer.headers, 'Content-Length', length]);
  response.end(body);
}

/** A signal that is raised when the client leaves before its answer is written. */
function signalOf(response: ServerResponse): AbortSignal {
  const client = new AbortController();
  const look = () => {
    if (!response.writableFinished) client.abort();
  };
  if (response.destroyed) look();
  else response.on('close', look);
  return client.signal;
}

class ClientLeft extends Error {}

const tooLong = (maxBytes: number) =>
  new Refusal('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, { http: { status: 413 } });

/**
 * The body that came together with its headers, as nearly all do: it needs nobody to wait for it. Null where more is to
 * come. Errors: as bodyOf.
 */
function bodyAtHand(request: IncomingMessage, maxBytes: number): Buffer | null {
  if (request.destroyed) throw new ClientLeft();
  if (!request.complete) return null;
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > maxBytes) throw tooLong(maxBytes);
  return body;
}

/** Reads a body to its end. Errors: Refusal (413) where it is too long; ClientLeft. */
function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      request.pause();
      reject(tooLong(maxBytes));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => reject(new ClientLeft()));
    request.on('close', () => {
      if (!request.complete) reject(new ClientLeft());
    });
  });
}
