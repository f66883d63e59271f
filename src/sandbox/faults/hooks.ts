import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId } from '../../contract/operations.ts';
import type { Faults } from '../faults.ts';
import { corruptBody } from './corrupt-body.ts';
import type { Fault } from './fault.ts';

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
