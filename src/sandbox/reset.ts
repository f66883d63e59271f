import type { FastifyInstance } from 'fastify';

/** Where the sandbox is put back to its start; outside the bank's own paths. */
export const resetPath = '/sandbox/reset';

/** POST puts every record, id and fault back to where the sandbox started. */
export function addResetRoute(app: FastifyInstance, reset: () => void): void {
  app.post(resetPath, (_request, reply) => {
    reset();
    return reply.code(204).send();
  });
}
