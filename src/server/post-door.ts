import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { Engine } from '../engine/engine.ts';
import { Refusal } from '../engine/refusal.ts';
import type { Admit } from './caller.ts';
import { httpAnswerOf, type MediaType, mediaTypeOf } from './http-answer.ts';
import { nodeIncoming } from './incoming.ts';
import { paramsOfBody } from './request-params.ts';

export interface PostDoorOptions {
  readonly engine: Engine;
  readonly admit: Admit;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
}

/**
 * The way of nearly all requests, a POST of JSON to /graphql, straight on node:http: yoga's Fetch objects and hooks cost
 * more than the rest of a request. It answers false, and does nothing, where yoga has to do it: another path or method,
 * or a client that takes no JSON.
 */
export function createPostDoor(options: PostDoorOptions) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method, url = '', headers } = request;
    if (method !== 'POST' || !(url === '/graphql' || url.startsWith('/graphql?'))) return false;
    const mediaType = mediaTypeOf(headers.accept);
    if (mediaType === null) return false;
    void serve(request, response, mediaType, options);
    return true;
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  mediaType: MediaType,
  { engine, admit, maxRequestBytes }: PostDoorOptions,
): Promise<void> {
  let result: ExecutionResult;
  try {
    const credentials = await admit(nodeIncoming(request));
    const body = await bodyOf(request, maxRequestBytes);
    const client = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) client.abort();
    });
    result = await engine.answer(paramsOfBody(body), { credentials, signal: client.signal });
  } catch (error) {
    // Nobody is there to be answered.
    if (request.destroyed && !request.complete) return;
    result = engine.refuse(error);
  }
  const { status, headers, body } = httpAnswerOf(result, mediaType);
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

/** Reads a body to its end. Errors: Refusal (413) where it is too long; whatever breaks the connection. */
function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      request.pause();
      reject(
        new Refusal('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, {
          http: { status: 413, headers: { Connection: 'close' } },
        }),
      );
    });
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the client left before its request was whole')));
  });
}
