import type { FastifyInstance } from 'fastify';
import { HttpError } from './http-error.ts';

/** Where the sandbox is put back to its start; outside the bank's own paths. */
export const resetPath = '/sandbox/reset';

const isLoopback = (host: string) =>
  /^(localhost|127(\.\d+){3}|\[?(::1|::ffff:127(\.\d+){3})\]?)$/.test(host);

/**
 * POST puts every record, id and fault back to where the sandbox started.
 * Errors: HttpError 403 for another machine, and for a page of another one that a browser here has opened.
 */
export function addResetRoute(app: FastifyInstance, reset: () => void): void {
  app.post(resetPath, ({ ip, headers }, reply) => {
    const { origin } = headers;
    if (!isLoopback(ip) || (origin !== undefined && !isLoopback(URL.parse(origin)?.hostname ?? ''))) {
      throw new HttpError(403, 'Only this machine may reset the sandbox');
    }
    reset();
    return reply.code(204).send();
  });
}
