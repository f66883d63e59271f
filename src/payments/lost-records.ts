import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import { createSerialQueue } from '../serial-queue.ts';
import type { Attempt, MetadataSnapshot, StoreCounts, StoreDriver } from './driver.ts';
import {
  createMarkWriter,
  describeLoss,
  type HighWaterMark,
  higherMark,
  highWaterMark,
  readMark,
} from './high-water-mark.ts';
import type { OnStoreEvent, PaymentRecord } from './store.ts';

/**
 * Notices that a store has lost records (an old copy, an emptied server, a failover, a restored backup), so that none of their
 * payments is sent a second time. It compares what the store holds with what is known outside of it:
 *
 * - the high-water marks in files (next to a SQLite file, and STATE_WITNESS), which reveal what is lost while no bankql runs;
 * - this process's own mark and its latest beginnings, which reveal what a failover loses;
 * - which server and history the store was on, as it wrote down itself.
 *
 * A loss that one process has noticed is written into the store, and all that share it refuse payments until an operator
 * accepts it.
 */

const storeMetadata = z.object({
  storeId: z.string(),
  /** Under which callers are hashed; see PaymentStore.secret. */
  secret: z.string(),
  loss: z.string().nullable().default(null),
  /** The marks that did not fit, until somebody accepts the loss. */
  missed: z.array(highWaterMark).default([]),
  /** Other stores whose loss was accepted: their marks count no more. */
  accepted: z.array(z.string()).default([]),
  acceptedAt: z.number().nullable().default(null),
  /** How many lost payments were accepted: they count as begun, so that marks fit. */
  lost: z.number().default(0),
  newestLostAt: z.number().nullable().default(null),
  /** MetadataSnapshot.server, as the last process saw it that found nothing missing. */
  server: z.string().nullable().default(null),
  /** What operators decided. */
  decisions: z.array(z.object({ at: z.number(), by: z.string(), what: z.string() })).default([]),
});

type StoreMetadata = z.infer<typeof storeMetadata>;

export const newMetadata = (secret: string | null): StoreMetadata =>
  storeMetadata.parse({ storeId: randomUUID(), secret: secret ?? randomBytes(32).toString('hex') });

/** Errors: an Error if it is not metadata. */
export const parseMetadata = (text: string): StoreMetadata => storeMetadata.parse(JSON.parse(text));

/** The high-water mark of a store. */
export const heldMark = (
  { storeId, lost, newestLostAt }: StoreMetadata,
  { began, newestAt }: Pick<StoreCounts, 'began' | 'newestAt'>,
): HighWaterMark => ({ storeId, began: began + lost, newestAt: later(newestAt, newestLostAt) });

/** The metadata of a store that goes on without what these marks know of. */
export function acceptMarks(
  metadata: StoreMetadata,
  counts: Pick<StoreCounts, 'began' | 'newestAt'>,
  marks: readonly HighWaterMark[],
  decision: StoreMetadata['decisions'][number],
): StoreMetadata {
  const held = heldMark(metadata, counts);
  const own = marks.filter(({ storeId }) => storeId === held.storeId);
  const others = marks.flatMap(({ storeId }) => (storeId === held.storeId ? [] : [storeId]));
  const missing = Math.max(0, ...own.map(({ began }) => began - held.began));
  return {
    ...metadata,
    loss: null,
    missed: [],
    accepted: [...new Set([...metadata.accepted, ...others])],
    acceptedAt: decision.at,
    lost: metadata.lost + missing,
    newestLostAt: own.reduce((latest, { newestAt }) => later(latest, newestAt), metadata.newestLostAt),
    decisions: [...metadata.decisions, decision],
  };
}

const later = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

export interface LossGuardOptions {
  /** The store's name in messages. */
  readonly name: string;
  /** Nothing is written, to the store or to the mark files. */
  readonly readOnly?: boolean;
  /** Where the high-water mark is kept besides the store. */
  readonly markFiles: readonly string[];
  readonly retentionMs: number;
  /** Whether the store may forget payments, so that a loss is not an error. */
  readonly allowVolatile: boolean;
  /** Whether what the store counts when it is connected to is confirmed: a failover cannot lose it. */
  readonly countsAreConfirmed: boolean;
  /** The store, for checks that the guard makes by itself. */
  readonly store: () => CheckedStore;
  /** The time in the store's terms. */
  readonly now: () => number;
  readonly readMetadata: (store: CheckedStore) => Promise<MetadataSnapshot>;
  readonly onEvent?: OnStoreEvent | undefined;
}

/** What a check needs of the store; PostgreSQL asks it of each new connection. */
export type CheckedStore = Pick<StoreDriver, 'readMetadata' | 'writeMetadata' | 'findMissing'>;

/** About a megabyte, and some milliseconds of the store's time when they are looked up. */
const maxRecentBegins = 4_096;
/** Each mark costs an fsync, which those of payments would wait behind. */
const markEveryMs = 50;
/** How often a process that refuses payments looks whether an operator has accepted the loss. */
const recheckMs = 1_000;

export function createLossGuard(options: LossGuardOptions) {
  const { name, markFiles, retentionMs, allowVolatile, readOnly = false, now, onEvent = () => {} } = options;
  const { readMetadata } = options;
  let metadata: StoreMetadata | null = null;
  let metadataVersion: string | null = null;
  let own: HighWaterMark | null = null;
  /**
   * The store's mark when it was last compared: a process that finds that much on another server was there when that took over.
   */
  let seen: HighWaterMark | null = null;
  let loss: string | null = null;
  /** Whether the store has counted fewer beginnings than this process had seen before, and nobody has looked why yet. */
  let isBehind = false;
  const recentBegins = new LRUCache<string, Attempt & { readonly createdAt: number }>({
    max: maxRecentBegins,
  });
  const writers = (readOnly ? [] : markFiles).map((file) =>
    createMarkWriter(file, (reason) =>
      onEvent(reason === null ? { kind: 'mark-written-again', file } : { kind: 'mark-failed', file, reason }),
    ),
  );
  /** The number of reads of the metadata that have begun, and the latest of them whose result was taken. */
  let reads = 0;
  let decidedBy = 0;
  let markTimer: NodeJS.Timeout | null = null;
  let markedAt = Number.NEGATIVE_INFINITY;
  let recheck: NodeJS.Timeout | null = null;
  let closed = false;

  async function writeMarks(): Promise<void> {
    markedAt = performance.now();
    const written = own;
    if (written !== null) await Promise.all(writers.map((write) => write(written)));
  }

  /** Payments do not wait for it: a mark may lag behind. Several share a write. */
  function writeMarksSoon(): void {
    if (markTimer !== null || writers.length === 0 || closed) return;
    markTimer = setTimeout(
      () => {
        markTimer = null;
        void writeMarks();
      },
      Math.max(0, markedAt + markEveryMs - performance.now()),
    );
  }

  /** The marks outside the store, and why one could not be read; null if each could. */
  function knownMarks() {
    const marks: { readonly where: string; readonly mark: HighWaterMark }[] = [];
    if (allowVolatile) return { marks, unreadable: null };
    if (own !== null) marks.push({ where: 'this process', mark: own });
    try {
      for (const file of markFiles) {
        const mark = readMark(file);
        if (mark !== null) marks.push({ where: file, mark });
      }
      return { marks, unreadable: null };
    } catch (error) {
      const reason = messageOf(error);
      return { marks, unreadable: `${reason}, so that it is not known whether records were lost` };
    }
  }
  type KnownMarks = ReturnType<typeof knownMarks>;

  function setLoss(reason: string | null): void {
    const found = reason === null ? null : `The payment store ${name} refuses payments: ${reason}.`;
    if (found !== null && found !== loss) onEvent({ kind: 'loss', loss: found });
    if (found === null && loss !== null) onEvent({ kind: 'loss-accepted' });
    loss = found;
    if (loss === null || recheck !== null || closed) return;
    recheck = setTimeout(() => {
      recheck = null;
      // A store that cannot be asked is noticed by others; the next one follows.
      check(options.store()).catch(() => setLoss(reason));
    }, recheckMs).unref();
  }

  /** What is missing of the beginnings that this process saw confirmed, in one sentence; null if nothing is. */
  async function missingBegins(store: CheckedStore, { acceptedAt }: StoreMetadata): Promise<string | null> {
    const oldest = Math.max(now() - retentionMs, (acceptedAt ?? -1) + 1);
    const known = [...recentBegins.values()].filter(({ createdAt }) => createdAt >= oldest);
    if (known.length === 0 || allowVolatile) return null;
    // A beginning that this process has taken back meanwhile is not a loss: it forgets a beginning before it deletes it. The
    // payment's id is not enough to tell: it may have begun again since, as another attempt.
    const missing = (await store.findMissing(known)).flatMap(({ id, trackId }) => {
      const still = recentBegins.peek(id);
      return still?.trackId === trackId ? [still.createdAt] : [];
    });
    if (missing.length === 0) return null;
    const since = new Date(Math.min(...missing)).toISOString();
    return `it has lost records: of the latest ${known.length} payments of this process ${missing.length} are missing, the first of ${since}`;
  }

  /** The metadata as it has to be, and why this process refuses payments besides `loss` in it. */
  async function compare(store: CheckedStore, known: KnownMarks, snapshot: MetadataSnapshot) {
    if (snapshot.text === null && snapshot.began > 0 && !allowVolatile)
      throw new Error('it has lost its metadata: put a backup back');
    const found =
      snapshot.text === null ? newMetadata(metadata?.secret ?? null) : parseMetadata(snapshot.text);
    const held = heldMark(found, snapshot);
    const missed = known.marks
      .filter((each) => !found.accepted.includes(each.mark.storeId))
      .map((each) => ({ mark: each.mark, loss: describeLoss(held, each.mark, each.where) }))
      .filter((each) => each.loss !== null);
    const newLoss =
      missed[0]?.loss ??
      (await missingBegins(store, found)) ??
      (isBehind ? 'it has lost records: it counts fewer payments than before' : null);
    if (newLoss !== null && newLoss !== found.loss)
      return {
        next: { ...found, loss: newLoss, missed: [...found.missed, ...missed.map((each) => each.mark)] },
        refusal: null,
      };
    if (found.loss !== null || allowVolatile || snapshot.server === found.server)
      return { next: found, refusal: null };
    // A process that knows what the store has to hold, and finds it, vouches for another server: by a mark, or because it was
    // there.
    const isVouchedFor =
      known.marks.some((each) => each.mark.storeId === found.storeId && each.mark.began > 0) ||
      (seen?.storeId === found.storeId && describeLoss(held, seen, 'this process') === null);
    if (found.server === null || snapshot.server === null || isVouchedFor || held.began === 0)
      return { next: { ...found, server: snapshot.server ?? found.server }, refusal: null };
    return {
      next: found,
      refusal: `its server changed from ${found.server} to ${snapshot.server} while no bankql ran that knows what it has to hold (a restored backup, or a failover), so that it is not known whether records were lost`,
    };
  }

  /** Replaces the metadata by what `decide` makes of them. Shape: what it decided, and the snapshot that is stored then. */
  async function change<T extends { readonly next: StoreMetadata }>(
    store: CheckedStore,
    decide: (snapshot: MetadataSnapshot, known: KnownMarks) => Promise<T>,
  ) {
    for (;;) {
      // First: while others begin payments, the store goes ahead of the marks, never they of it.
      const known = knownMarks();
      const read = ++reads;
      const snapshot = await readMetadata(store);
      const decided = await decide(snapshot, known);
      const text = JSON.stringify(decided.next);
      if (text === snapshot.text || readOnly) return { ...decided, known, snapshot, read };
      const version = randomUUID();
      if (await store.writeMetadata(snapshot.metadataVersion, { version, text }))
        return { ...decided, known, snapshot: { ...snapshot, metadataVersion: version }, read };
    }
  }

  async function runCheck(store: CheckedStore): Promise<void> {
    const { next, refusal, known, snapshot, read } = await change(store, (held, marks) =>
      compare(store, marks, held),
    );
    const reason = next.loss ?? known.unreadable ?? refusal;
    // The checks of connections overlap those of the store. One whose read began earlier clears no loss that a later one found.
    if (read < decidedBy && reason === null) return;
    decidedBy = Math.max(decidedBy, read);
    metadata = next;
    metadataVersion = snapshot.metadataVersion;
    isBehind = false;
    setLoss(reason);
    if (loss !== null) return;
    seen = heldMark(next, snapshot);
    if (!options.countsAreConfirmed) return;
    own = higherMark(own, seen);
    writeMarksSoon();
  }

  // Each check decides by what the one before it has written.
  const storeChecks = createSerialQueue();
  const connectionChecks = createSerialQueue();

  /** Compares the store with all that is known. Errors: those of the store. */
  const check = (store: CheckedStore) => storeChecks.run(() => runCheck(store));

  return {
    get secret() {
      return metadata?.secret ?? '';
    },
    /** See PaymentStore.loss. */
    get loss() {
      return loss;
    },
    /** Whether the metadata have been read. */
    get hasMetadata() {
      return metadata !== null;
    },
    /** How many beginnings this process knows to be confirmed. */
    get began() {
      return own?.began ?? 0;
    },
    /**
     * Whether a check is needed before what the store answered is believed: another process has noticed a loss, or the store is
     * another one than before; or it counts fewer beginnings than `least`, because a backup was put back under this process.
     */
    needsCheck(counts: StoreCounts, least: number): boolean {
      if (metadata !== null && !allowVolatile && loss === null && heldMark(metadata, counts).began < least)
        isBehind = true;
      return isBehind || counts.metadataVersion !== metadataVersion;
    },
    check,
    /** The same for a new connection: in a queue of its own, because a check of the store may be waiting for this connection. */
    checkConnection: (connection: CheckedStore) => connectionChecks.run(() => runCheck(connection)),
    /** Notes a beginning that the store has confirmed. */
    noteBegin(counts: StoreCounts, { id, trackId, createdAt }: PaymentRecord) {
      if (allowVolatile) return;
      recentBegins.set(id, { id, trackId, createdAt });
      if (metadata !== null) own = higherMark(own, heldMark(metadata, counts));
      writeMarksSoon();
    },
    /** This process deletes the record: it is not missing. */
    forget: (id: string) => void recentBegins.delete(id),
    /** Errors: an Error if it is still not known whether records were lost; those of the store. */
    accept: (store: CheckedStore, by: string, at: number) =>
      storeChecks.run(async () => {
        const { next, snapshot } = await change(store, async (read, { marks }) => {
          if (read.text === null) throw new Error('it has no metadata');
          const found = parseMetadata(read.text);
          const held = heldMark(found, read);
          const what = `accepted the loss of records: ${JSON.stringify({ loss, held, marks })}`;
          const known = [...found.missed, ...marks.map(({ mark }) => mark)];
          return { next: { ...acceptMarks(found, read, known, { at, by, what }), server: read.server } };
        });
        own = heldMark(next, snapshot);
        recentBegins.clear();
        await writeMarks();
        await runCheck(store);
      }),
    /** Resolves when the marks are on disk, or could not be written. */
    async close() {
      closed = true;
      if (recheck !== null) clearTimeout(recheck);
      if (markTimer !== null) clearTimeout(markTimer);
      await Promise.all([storeChecks.idle, connectionChecks.idle]);
      if (loss === null) await writeMarks();
    },
  };
}
