import { getHeapStatistics } from 'node:v8';

/** What each thing that bankql keeps in memory may take, in bytes: no more than `most`, and where the heap is small `share` of it. */
const table = {
  /** Documents with their plans, as the document cache estimates them. */
  documents: { share: 1 / 16, most: 64 },
  /** Public answers of the bank: branches and products. */
  publicAnswers: { share: 1 / 32, most: 32 },
  /** Parsed answers that may come again byte for byte. */
  parsedAnswers: { share: 1 / 32, most: 32 },
  /** Texts of automatic persisted queries. */
  automaticTexts: { share: 1 / 64, most: 16 },
  /** Lines that a log could not write yet, of each of the two logs. */
  unwrittenLines: { share: 1 / 64, most: 32 },
  /** Answers that clients have not taken yet, unless LIMIT_UNREAD_BYTES says it. They are outside of the heap, which is no reason to let them grow without it. */
  unreadAnswers: { share: 1 / 8, most: 256 },
} as const;

export type MemoryBounds = Readonly<Record<keyof typeof table, number>>;

const megabyte = 1024 * 1024;

/** The bounds for a heap of at most so many bytes. */
export const memoryBoundsOf = (heapBytes: number): MemoryBounds =>
  // An object with a member for each of the table's.
  Object.fromEntries(
    Object.entries(table).map(([name, { share, most }]) => [
      name,
      Math.floor(Math.min(share * heapBytes, most * megabyte)),
    ]),
  ) as Record<keyof typeof table, number>;

/** The bounds of this process. */
export const memoryBounds = memoryBoundsOf(getHeapStatistics().heap_size_limit);
