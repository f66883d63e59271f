import {
  createMarkWriter,
  type HighWaterMark,
  higherMark,
  readMark,
  unreadableMark,
} from './high-water-mark.ts';
import { type ConfirmedBegin, createRecentBegins } from './recent-begins.ts';
import type { OnStoreEvent } from './store-event.ts';

/** A high-water mark that the store has to fit, and where it was kept. */
export interface KeptMark {
  readonly where: string;
  readonly mark: HighWaterMark;
}

/** What a process knows of begun payments independently of the store. */
export interface KeptMarks {
  readonly marks: readonly KeptMark[];
  /** The latest beginnings of this process, which the store has to hold. */
  readonly begins: readonly ConfirmedBegin[];
  /** Why a mark could not be read; null where each could. */
  readonly unreadable: string | null;
}

export interface KnownMarks {
  /** Reads them anew. */
  read(): KeptMarks;
  readonly none: KeptMarks;
  /** Notes what the store has confirmed as begun; `begin` is the newest payment, if this process began it. */
  note(mark: HighWaterMark, begin?: ConfirmedBegin): void;
  /** This process has rolled back a payment. */
  forget(id: string): void;
  /** Replaces the mark, even by a lower one; resolves when it is written to disk, or the write has failed. */
  reset(mark: HighWaterMark): Promise<void>;
  /** Resolves when all that was noted is written to disk, or the write has failed. */
  close(): Promise<void>;
}

/**
 * This process' own mark and its latest beginnings, and the file that the processes of one machine may share
 * (`witness`), where there is one. The first two reveal what a failover loses, the last what is lost while no bankql
 * runs. A mark alone misses a loss after which another process began as many payments, because it only counts them.
 */
export function createKnownMarks(witness: string | undefined, onEvent: OnStoreEvent): KnownMarks {
  let own: HighWaterMark | null = null;
  const recent = createRecentBegins();
  const file = witness ?? '';
  const onFailure = (reason: string | null) =>
    onEvent(reason === null ? { kind: 'mark-written-again', file } : { kind: 'mark-failed', file, reason });
  const newWriter = () => (witness === undefined ? null : createMarkWriter(witness, onFailure));
  let writer = newWriter();
  let written: Promise<void> | undefined;

  return {
    none: { marks: [], begins: [], unreadable: null },
    read() {
      const marks: KeptMark[] = own === null ? [] : [{ where: 'this process', mark: own }];
      const begins = recent.list();
      if (witness === undefined) return { marks, begins, unreadable: null };
      try {
        const mark = readMark(witness);
        if (mark !== null) marks.push({ where: witness, mark });
        return { marks, begins, unreadable: null };
      } catch (error) {
        return { marks, begins, unreadable: unreadableMark(error) };
      }
    },
    note(mark, begin) {
      if (begin !== undefined) recent.add(begin);
      own = higherMark(own, mark);
      // Payments do not wait for it: it may lag behind.
      written = writer?.write(own);
    },
    forget: recent.delete,
    async reset(mark) {
      own = mark;
      writer = newWriter();
      await writer?.write(mark);
    },
    async close() {
      await written;
    },
  };
}
