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
  /** Answers that clients have not taken yet, unless LIMIT_UNREAD_BYTES says it. They are outside of the heap, but in the same machine. */
  unreadAnswers: { share: 1 / 8, most: 256 },
  /** Requests that are arriving. */
  arrivingRequests: { share: 1 / 16, most: 64 },
  /** Answers that are being built. */
  builtAnswers: { share: 1 / 4, most: 4096 },
} as const;

/** What each thing may take, in bytes, and how many requests may be under way. */
export type MemoryBounds = Readonly<Record<keyof typeof table | 'requests', number>>;

const megabyte = 1024 * 1024;
/** One for each megabyte of the heap: what a query makes until it is answered, its text and the bank's answers included. */
const mostRequests = 1000;

/** The bounds for a heap of at most so many bytes. */
export function memoryBoundsOf(heapBytes: number): MemoryBounds {
  const bytesOf = ({ share, most }: (typeof table)[keyof typeof table]) =>
    Math.floor(Math.min(share * heapBytes, most * megabyte));
  return {
    documents: bytesOf(table.documents),
    publicAnswers: bytesOf(table.publicAnswers),
    parsedAnswers: bytesOf(table.parsedAnswers),
    automaticTexts: bytesOf(table.automaticTexts),
    unwrittenLines: bytesOf(table.unwrittenLines),
    unreadAnswers: bytesOf(table.unreadAnswers),
    arrivingRequests: bytesOf(table.arrivingRequests),
    builtAnswers: bytesOf(table.builtAnswers),
    requests: Math.floor(Math.min(heapBytes / megabyte, mostRequests)),
  };
}

/** The bounds of this process. */
export const memoryBounds = memoryBoundsOf(getHeapStatistics().heap_size_limit);
