import { LRUCache } from 'lru-cache';
import type { Drift } from './answer.ts';
import type { WireReply } from './wire.ts';

/** What was made of an answer's bytes. It may be shared with others, and must not be changed. */
export interface ReadAnswer {
  readonly answer: unknown;
  /** False where an error stands in a value's place. */
  readonly isWhole: boolean;
  readonly drifts: readonly Drift[];
}

interface Kept {
  readonly status: number;
  readonly type: unknown;
  readonly body: Uint8Array;
  /** Null until the same bytes came a second time: most bodies that come once never come again. */
  readonly read: ReadAnswer | null;
  /** How many other bodies are passed over before one takes this one's place, and how many were. */
  readonly patience: number;
  passedOver: number;
}

/** What is looked at and what is kept of one that always changes: every so many. */
const mostPatience = 63;
const longestBody = 1024 * 1024;
/** What a parsed answer takes in memory for each byte of its text, about; and what an entry takes beside it. */
const parsedBytes = 4;
const entryBytes = 500;

/**
 * Answers that were read before. The bank is asked each time, and decides each time who may see what; but where it
 * sends the same bytes as last time, what was made of them is taken again. That is two thirds of what a long list costs.
 *
 * Answers are named by their request without its caller: whoever gets one was just sent these very bytes.
 */
export function createKeptAnswers(maxBytes: number) {
  const kept = new LRUCache<string, Kept>({ maxSize: maxBytes, sizeCalculation: sizeOf });

  return {
    /** How much is kept, in bytes. */
    get bytes(): number {
      return kept.calculatedSize;
    },

    /** What was made of the same bytes before; null where nothing is kept of them. */
    find(name: string, reply: WireReply): ReadAnswer | null {
      const before = kept.get(name);
      return before !== undefined && before.read !== null && isOf(before, reply) ? before.read : null;
    },

    /** What was made of an answer of which `find` gave nothing; it is kept where the same bytes come again. */
    note(name: string, reply: WireReply, read: ReadAnswer): void {
      if (!read.isWhole || reply.body.length > longestBody) return;
      const before = kept.get(name);
      if (before === undefined) kept.set(name, keptOf(reply, 0));
      else if (isOf(before, reply)) kept.set(name, { ...before, read, patience: 0 });
      else if (before.passedOver++ >= before.patience)
        kept.set(name, keptOf(reply, Math.min(2 * before.patience + 1, mostPatience)));
    },
  };
}

const isOf = ({ status, type, body }: Kept, reply: WireReply): boolean =>
  status === reply.status && type === reply.headers['content-type'] && reply.body.equals(body);

const keptOf = ({ status, headers, body }: WireReply, patience: number): Kept => ({
  status,
  type: headers['content-type'],
  // A part of a large buffer would keep all of it.
  body: body.buffer.byteLength > 2 * body.length + entryBytes ? new Uint8Array(body) : body,
  read: null,
  patience,
  passedOver: 0,
});

const sizeOf = ({ body, read }: Kept, name: string): number =>
  entryBytes + 2 * name.length + body.buffer.byteLength + (read === null ? 0 : parsedBytes * body.length);
