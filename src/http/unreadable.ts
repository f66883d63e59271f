import type { HttpRefusal } from './request.ts';

/** An error of Node's parser of HTTP, or of a request that does not arrive in time. */
export type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** A request that cannot be read. */
export interface Unreadable {
  readonly status: HttpRefusal;
  /** Node's code of the error. */
  readonly reason: string;
  /** The origin of the page that sent it, as far as it can be seen. */
  readonly origin: string | undefined;
}

/** The statuses of errors by their codes, as Node has them; the others are 400. */
const statuses: Readonly<Record<string, HttpRefusal>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Describes why a request cannot be read. Null if the client has left. */
export function describeUnreadable({ code = '', rawPacket }: ParserError): Unreadable | null {
  const status = statuses[code] ?? 400;
  // A connection that ends within a request, or fails.
  if (status === 400 && (!code.startsWith('HPE_') || code === 'HPE_INVALID_EOF_STATE')) return null;
  // Node keeps no header of such a request. Only the bytes that arrived last are known.
  const origin = /^origin:[ \t]*([^\s]+)[ \t]*$/im.exec(rawPacket?.toString('latin1') ?? '')?.[1];
  return { status, reason: code, origin };
}
