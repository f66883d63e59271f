import { getHeapStatistics } from 'node:v8';
import { heapTotal, uses } from '../capacity.ts';

/** What each thing that bankql keeps in memory may take, in bytes: this part of the heap, and at most so many megabytes. */
const table = {
  /** Documents with their plans, as the document cache estimates them. */
  documents: { part: 1 / 16, mostMegabytes: 64 },
  /** Public answers of the bank: branches and products. */
  publicAnswers: { part: 1 / 32, mostMegabytes: 32 },
  /** Answers of the bank to reads that are not parsed yet. They are outside of the heap, but in the same machine. */
  arrivingAnswers: { part: 1 / 8, mostMegabytes: 256 },
  /** Texts of automatic persisted queries. */
  automaticTexts: { part: 1 / 64, mostMegabytes: 16 },
  /** Lines that a log could not write yet, of each of the two logs. */
  unwrittenLines: { part: 1 / 64, mostMegabytes: 32 },
  /** Answers that clients have not taken yet, unless LIMIT_UNREAD_BYTES says it. They are outside of the heap, but in the same machine. */
  unreadAnswers: uses.unread.heap,
  /** Requests that are arriving. */
  arrivingRequests: uses.arriving.heap,
  /** Answers that are being built. */
  builtAnswers: uses.values.heap,
} as const;

/** What each thing may take, in bytes, and how many requests may be under way, for a heap of at most so many bytes. */
export const memoryBoundsOf = (heapBytes: number) => ({
  ...(Object.fromEntries(
    Object.entries(table).map(([name, { part, mostMegabytes }]) => [
      name,
      Math.floor(Math.min(part * heapBytes, mostMegabytes * 1024 * 1024)),
    ]),
  ) as Record<keyof typeof table, number>),
  requests: heapTotal('requests', heapBytes),
});

/** The bounds of this process. */
export const memoryBounds = memoryBoundsOf(getHeapStatistics().heap_size_limit);
