import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { RequestError } from '../engine/request-error.ts';

/** The client left before its request was whole: nobody is there to be answered. */
export class ClientDisconnected extends Error {}

const tooLong = (maxBytes: number) =>
  new RequestError('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, { http: { status: 413 } });

/**
 * The body that came together with its headers, as nearly all do: it needs nobody to wait for it. Null where more is to
 * come. Errors: as readBody.
 */
export function bufferedBody(request: IncomingMessage, maxBytes: number): Buffer | null {
  if (request.destroyed) throw new ClientDisconnected();
  if (!request.complete) return null;
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > maxBytes) throw tooLong(maxBytes);
  return body;
}

/** Reads a body to its end. Errors: RequestError (413) where it is too long; ClientDisconnected. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
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
    request.on('error', () => reject(new ClientDisconnected()));
    request.on('close', () => {
      if (!request.complete) reject(new ClientDisconnected());
    });
  });
}

/** Whether a body is gzipped; http-policy.ts refuses other encodings. */
export const isGzip = (encoding: string | null | undefined): boolean => encoding?.toLowerCase() === 'gzip';

const inflate = promisify(gunzip);

/** What a gzipped body holds, which may be no longer than a plain one. Errors: RequestError (413, 400). */
export async function inflateBody(body: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await inflate(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLong(maxBytes);
    throw new RequestError('BAD_USER_INPUT', 'The body is not gzip, as its Content-Encoding says it is.');
  }
}
