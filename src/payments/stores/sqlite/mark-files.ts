import {
  createMarkWriter,
  describeLoss,
  type HighWaterMark,
  readMark,
  successorOf,
  unreadableMark,
} from '../high-water-mark.ts';
import type { OnStoreEvent } from '../store-event.ts';
import type { Statements } from './statements.ts';

/** Where a SQLite store's high-water mark is kept: beside the file, and in the witness, where there is one. */
export const markFiles = (path: string, witness: string | undefined): readonly string[] =>
  witness === undefined ? [`${path}.mark`] : [`${path}.mark`, witness];

/** The high-water mark stored in the database. */
export function heldMark(statements: Statements): HighWaterMark {
  const { storeId, began, newestAt } = statements.meta.get() ?? {};
  return {
    storeId: String(storeId),
    began: Number(began),
    newestAt: newestAt === null ? null : Number(newestAt),
  };
}

/** What a store lost according to the marks in these files; null if nothing. */
export function findLoss(held: HighWaterMark, files: readonly string[]): string | null {
  for (const file of files) {
    try {
      const mark = readMark(file);
      const loss = mark === null ? null : describeLoss(held, mark, file);
      if (loss !== null) return loss;
    } catch (error) {
      return unreadableMark(error);
    }
  }
  return null;
}

/** The store's mark once its loss is accepted: see successorOf. Unreadable marks are ignored. */
export function acceptedMark(held: HighWaterMark, files: readonly string[]): HighWaterMark {
  return files.reduce((accepted, file) => {
    try {
      const mark = readMark(file);
      return mark === null || mark.began === 0 ? accepted : successorOf(accepted, mark);
    } catch {
      // The file is damaged: the operator has accepted that its content is unknown.
      return accepted;
    }
  }, held);
}

/** Writes a store's mark to all of its files. Shape: resolves when all are written, or failed (a `mark-failed`). */
export function createMarkWriters(
  files: readonly string[],
  onEvent: OnStoreEvent,
): (mark: HighWaterMark) => Promise<void> {
  const writers = files.map((file) =>
    createMarkWriter(file, (reason) =>
      onEvent(reason === null ? { kind: 'mark-written-again', file } : { kind: 'mark-failed', file, reason }),
    ),
  );
  return async (mark) => {
    await Promise.all(writers.map((writer) => writer.write(mark)));
  };
}
