import { z } from 'zod';
import { applyQuery, matchesQuery } from '../../payment-query.ts';
import type { PaymentQuery, PaymentRecord } from '../../store.ts';
import { finishedIndex, openIndex, stateIndex, states } from './keys.ts';
import type { Script } from './script.ts';
import { scripts } from './scripts.ts';

/** How a search asks Redis. */
export interface RedisReader {
  run<T>(script: Script, args: readonly string[], read: (answer: unknown) => T): Promise<T>;
  /** PaymentStore.find. */
  find(id: string): Promise<PaymentRecord | null>;
  /** The records with these ids, those that are gone left out. */
  records(ids: readonly string[]): Promise<PaymentRecord[]>;
}

/** An id of an index, and the number that it is sorted by there. */
export interface IndexEntry {
  readonly id: string;
  readonly score: number;
}

interface IndexPage {
  readonly entries: readonly IndexEntry[];
  /** Finished records whose last change is older count as absent. */
  readonly outlivedBefore: number;
}

/** How many records are read at once. */
const minPageSize = 20;
const pageSize = 200;

/** A complete id, which is no other id's prefix. */
const wholeId = /^[0-9a-f]{64}$/;

const pageReply = z.tuple([z.coerce.number(), z.array(z.string())]);

/**
 * Reads an index in pages, by ascending or descending score, and by id within one score. Entries that are added or
 * removed meanwhile may be missed or returned twice.
 */
export async function* readIndex(
  reader: Pick<RedisReader, 'run'>,
  index: string,
  { since, newestFirst = false, size = pageSize }: { since?: number; newestFirst?: boolean; size?: number },
): AsyncGenerator<IndexPage> {
  const command = newestFirst ? 'ZREVRANGEBYSCORE' : 'ZRANGEBYSCORE';
  const least = since === undefined ? '-inf' : String(since);
  const end = newestFirst ? least : '+inf';
  let from = newestFirst ? '+inf' : least;
  let offset = 0;
  for (;;) {
    const args = [index, command, from, end, String(offset), String(size)];
    const [outlivedBefore, flat] = await reader.run(scripts.readIndex, args, pageReply.parse);
    const entries: IndexEntry[] = [];
    for (let n = 0; n + 1 < flat.length; n += 2)
      entries.push({ id: flat[n] ?? '', score: Number(flat[n + 1]) });
    yield { entries, outlivedBefore };
    if (entries.length < size) return;
    const last = entries[entries.length - 1]?.score ?? 0;
    const sameScore = entries.filter(({ score }) => score === last).length;
    offset = Number(from) === last ? offset + sameScore : sameScore;
    from = String(last);
  }
}

/**
 * The records that a query asks for: by its id, from the caller's indexes where it names a caller, else from the
 * states'. Not atomic: each record is as it was when it was read.
 */
export async function searchRecords(reader: RedisReader, query: PaymentQuery): Promise<PaymentRecord[]> {
  const { idPrefix = '', since, newestFirst = false, limit } = query;
  if (wholeId.test(idPrefix)) {
    const record = await reader.find(idPrefix);
    return applyQuery(record === null ? [] : [record], query);
  }
  const size = Math.min(pageSize, Math.max(minPageSize, limit ?? pageSize));
  while ((await reader.run(scripts.endLeases, [], z.number().parse)) > 0);
  const found = new Map<string, PaymentRecord>();
  for (const index of indexesOf(query)) {
    const times: number[] = [];
    for await (const { entries, outlivedBefore } of readIndex(reader, index, { since, newestFirst, size })) {
      const ids = entries.map(({ id }) => id).filter((id) => id.startsWith(idPrefix));
      for (const record of await reader.records(ids)) {
        const outlived = !isOpen(record) && record.updatedAt < outlivedBefore;
        if (outlived || !matchesQuery(record, query)) continue;
        found.set(record.id, record);
        times.push(record.createdAt);
      }
      // No record began after its score, so all that follow are older than these.
      const reached = entries[entries.length - 1]?.score ?? 0;
      if (newestFirst && limit !== undefined && times.filter((time) => time > reached).length >= limit) break;
    }
  }
  return applyQuery([...found.values()], query);
}

const isOpen = ({ state }: PaymentRecord) => state === 'PENDING' || state === 'UNKNOWN';

/** In the order in which records move from one to another. */
function indexesOf({ caller, states: wanted = states }: PaymentQuery): string[] {
  const asked = states.filter((state) => wanted.includes(state));
  if (caller === undefined) return asked.map(stateIndex);
  const finished = asked.includes('DONE') || asked.includes('REJECTED');
  return finished ? [openIndex(caller), finishedIndex(caller)] : [openIndex(caller)];
}
