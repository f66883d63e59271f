import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * An answer that tells the truth about its connection. Where it is given before the body was read to its end, the rest
 * is dropped as it comes, and the connection stays: judge() has seen how long it is. A body in chunks may have no end:
 * the connection closes, and the answer says so.
 */
export class Answer extends ServerResponse {
  override writeHead(status: number, reason?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { complete, headers: asked } = this.req;
    if (!complete && asked['transfer-encoding'] !== undefined) this.setHeader('Connection', 'close');
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }
}
