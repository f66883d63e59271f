import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Faults } from '../faults.ts';
import { HttpError } from '../http-error.ts';
import { readBody } from '../request-body.ts';
import { checkFault, type Fault, FaultError } from './fault.ts';
import { isScenario, scenarioNames, scenarios } from './scenarios.ts';
import { parseFaults } from './text.ts';

/** The path for setting faults; outside the bank's own paths. */
const faultsPath = '/sandbox/faults';

const scenarioBody = z.strictObject({ scenario: z.unknown() });

/** Errors: FaultError. */
function faultsOf(body: unknown): Fault[] {
  if (Array.isArray(body)) return body.map((description, index) => checkFault(String(index), description));
  const named = scenarioBody.safeParse(body).data;
  if (named === undefined) throw new FaultError('Give a list of faults, or {"scenario": "flaky"}');
  if (!isScenario(named.scenario)) throw new FaultError(`scenario: give one of ${scenarioNames}`);
  return parseFaults(scenarios[named.scenario]);
}

/** GET lists the faults, PUT replaces them, DELETE ends them; each answers with the list. */
export function addFaultRoutes(app: FastifyInstance, faults: Faults): void {
  const send = (reply: FastifyReply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(faults.list()));

  app.get(faultsPath, (_request, reply) => send(reply));

  app.put(faultsPath, (request, reply) => {
    try {
      // Its Content-Type does not matter: curl names that of a form unless told otherwise.
      faults.replace(faultsOf(readBody(z.unknown(), undefined, request.body)));
    } catch (error) {
      throw error instanceof FaultError ? new HttpError(400, error.message) : error;
    }
    return send(reply);
  });

  app.delete(faultsPath, (_request, reply) => {
    faults.replace([]);
    return send(reply);
  });
}
