import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OperationId } from '../contract/operations.ts';
import { type Fault, type Faults, faultsOfBody, SandboxError } from './faults.ts';
import { HttpError, readBody } from './request-checks.ts';

/** Ways to corrupt the text of a JSON answer. Numbers are read as text, so that drift keeps all of their digits. */
const corruptBody = {
  /** A text that ends too early, though the Content-Length is right. */
  'broken-json': (text: string) => text.slice(0, Math.ceil(text.length / 2)),

  /** No value has the type that the contract asks for; the structure stays. */
  'wrong-types': (text: string) =>
    JSON.stringify(
      JSON.parse(text, (_key, value) => {
        if (typeof value === 'string') return false;
        if (typeof value === 'number') return 'no number';
        return typeof value === 'boolean' ? String(value) : value;
      }),
    ),

  /** Deviations of real banks that a client should tolerate: numbers as strings, and objects in `views_available`. */
  drift: (text: string) =>
    JSON.stringify(
      JSON.parse(text, (key, value, { source }) => {
        if (typeof value === 'number') return source;
        return key === 'views_available' && Array.isArray(value) ? value.map((id) => ({ id })) : value;
      }),
    ),
} as const;

const jsonType = 'application/json; charset=utf-8';

/** Never resolves, so that Fastify sends nothing more: the caller only sees the connection end. */
const never = () => new Promise<never>(() => {});

/** The text, one byte at a time. It ends with its connection. */
async function* drip(text: string, milliseconds: number) {
  for (const byte of Buffer.from(text)) {
    yield Buffer.of(byte);
    await wait(milliseconds, undefined, { ref: false });
  }
}

/** Announces the whole answer, sends half of it, and closes the connection. */
function cutOff(reply: FastifyReply, text: string): Promise<never> {
  const bytes = Buffer.from(text);
  const { raw } = reply;
  raw.writeHead(raw.statusCode, {
    'content-type': jsonType,
    'content-length': bytes.length,
  });
  raw.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => raw.destroy());
  return never();
}

/** Applies faults to an answer: returns what is sent instead, or never resolves if the caller gets none. */
async function strike(faults: readonly Fault[], reply: FastifyReply, text: string) {
  let answer: string | Readable = text;
  for (const fault of faults) {
    if (fault.kind === 'latency') await wait(fault.milliseconds, undefined, { ref: false });
  }
  for (const fault of faults) {
    switch (fault.kind) {
      case 'latency':
        break;
      case 'status':
        reply.code(fault.status);
        answer = JSON.stringify({ code: fault.status, message: 'The bank has a bad day' });
        break;
      case 'reset':
        reply.raw.socket?.resetAndDestroy();
        return never();
      case 'hang':
        return never();
      case 'cut-off':
        return cutOff(reply, text);
      case 'drip':
        reply.header('content-length', Buffer.byteLength(text));
        answer = Readable.from(drip(text, fault.milliseconds));
        break;
      default:
        answer = corruptBody[fault.kind](text);
    }
  }
  return answer;
}

/**
 * The hooks of an operation's route: a call's faults are selected when it has arrived completely, and apply before its
 * handler or to its answer, whatever that is.
 */
export function faultHooks(faults: Faults, operation: OperationId) {
  const onAnswer = new WeakMap<FastifyRequest, readonly Fault[]>();
  return {
    async preHandler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      const drawn = faults.draw(operation);
      // If the handler is not run, latencies have to apply now.
      const isEnd = drawn.some(({ kind, strikes }) => kind !== 'latency' && strikes === 'before');
      const before = drawn.filter(({ strikes }) => isEnd || strikes === 'before');
      const after = drawn.filter((fault) => !before.includes(fault));
      if (after.length > 0) onAnswer.set(request, after);
      const answer = before.length > 0 ? await strike(before, reply, '{}') : undefined;
      return isEnd ? reply.type(jsonType).send(answer) : undefined;
    },

    async onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
      const drawn = onAnswer.get(request);
      return drawn === undefined || typeof payload !== 'string' ? payload : strike(drawn, reply, payload);
    },
  };
}

/** The path for setting faults; outside the bank's own paths. */
const faultsPath = '/sandbox/faults';

/** GET lists the faults, PUT replaces them, DELETE ends them; each answers with the list. */
export function addFaultRoutes(app: FastifyInstance, faults: Faults): void {
  const send = (reply: FastifyReply) => reply.type(jsonType).send(JSON.stringify(faults.list()));

  app.get(faultsPath, (_request, reply) => send(reply));

  app.put(faultsPath, (request, reply) => {
    try {
      // Its Content-Type does not matter: curl names that of a form unless told otherwise.
      faults.replace(faultsOfBody(readBody(z.unknown(), undefined, request.body)));
    } catch (error) {
      throw error instanceof SandboxError ? new HttpError(400, error.message) : error;
    }
    return send(reply);
  });

  app.delete(faultsPath, (_request, reply) => {
    faults.replace([]);
    return send(reply);
  });
}
