import type { OnStoreEvent } from '../store-event.ts';
import { createMarkWriter, type HighWaterMark, higherMark, readMark, unreadableMark } from '../witness.ts';
import type { KeptMark } from './meta.ts';

/** What a process knows of the payments that were begun, without asking the store. */
export interface KeptMarks {
  readonly marks: readonly KeptMark[];
  /** Why a mark could not be read; null where each could. */
  readonly unreadable: string | null;
}

export interface StoreMarks {
  /** Reads them anew. */
  read(): KeptMarks;
  readonly none: KeptMarks;
  /** The store has confirmed that so much was begun. */
  note(mark: HighWaterMark): void;
  /** The mark is this one from now on, be it lower; resolves when that is on the disk, or cannot be. */
  reset(mark: HighWaterMark): Promise<void>;
  /** Resolves when what was noted is on the disk, or cannot be. */
  close(): Promise<void>;
}

/**
 * This process' own mark, and the file that the processes of one machine may share (`witness`), where there is one.
 * The first makes seen what a failover loses, the second what is lost while no bankql runs.
 */
export function createStoreMarks(witness: string | undefined, onEvent: OnStoreEvent): StoreMarks {
  let own: HighWaterMark | null = null;
  const file = witness ?? '';
  const onFailure = (reason: string | null) =>
    onEvent(reason === null ? { kind: 'mark-written-again', file } : { kind: 'mark-failed', file, reason });
  const newWriter = () => (witness === undefined ? null : createMarkWriter(witness, onFailure));
  let writer = newWriter();
  let written: Promise<void> | undefined;

  return {
    none: { marks: [], unreadable: null },
    read() {
      const marks: KeptMark[] = own === null ? [] : [{ where: 'this process', mark: own }];
      if (witness === undefined) return { marks, unreadable: null };
      try {
        const mark = readMark(witness);
        if (mark !== null) marks.push({ where: witness, mark });
        return { marks, unreadable: null };
      } catch (error) {
        return { marks, unreadable: unreadableMark(error) };
      }
    },
    note(mark) {
      own = higherMark(own, mark);
      // Payments do not wait for it: it may lag behind.
      written = writer?.write(own);
    },
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
