import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import type { PaymentRecord } from '../../store.ts';
import { type HighWaterMark, readMark } from '../high-water-mark.ts';
import { storedRecord } from '../stored-record.ts';
import type { StoreContents } from './copy.ts';

export interface RestorePlan {
  readonly backup: StoreContents;
  /** The records of the file in use that are not in the backup: sending one of them again would pay again. */
  readonly missing: readonly PaymentRecord[];
  /** How many further payments began after the backup, according to the high-water mark; their records are unknown. */
  readonly unnamed: number;
  /** Why the file in use could not be read, so that `missing` is empty; null where it was read, or there is none. */
  readonly unreadable: string | null;
}

interface Files {
  readonly draft: string;
  /** A copy of the file in use. */
  readonly old: string;
  /** The mark files. */
  readonly files: readonly string[];
}

/**
 * Describes the effect of restoring a backup.
 * Shape: `inUse`: what the file in use holds; why it cannot be read; null where there is none.
 */
export function makePlan(
  saved: StoreContents,
  inUse: StoreContents | string | null,
  { draft, old, files }: Files,
): RestorePlan {
  const unreadable = typeof inUse === 'string' ? inUse : null;
  const read = inUse === null || typeof inUse === 'string' ? null : inUse;
  // Payments that the mark counts and neither file contains.
  const unnamed = files.flatMap((file) => {
    const mark = markOf(file);
    if (mark === null) return [];
    const known = [saved, ...(read === null ? [] : [read])].filter(({ storeId }) => storeId === mark.storeId);
    return mark.began - Math.max(0, ...known.map(({ began }) => began));
  });
  return {
    backup: saved,
    missing: read === null ? [] : recordsMissing(draft, old),
    unnamed: Math.max(0, ...unnamed),
    unreadable,
  };
}

/** The mark in a file; null also where it cannot be read. */
function markOf(file: string): HighWaterMark | null {
  try {
    return readMark(file);
  } catch {
    // A damaged mark is ignored, and overwritten.
    return null;
  }
}

/** The records of the one file that are not in the other. */
function recordsMissing(file: string, other: string): PaymentRecord[] {
  using database = new DatabaseSync(file, { readOnly: true });
  database.prepare('ATTACH $other AS other').run({ other });
  const rows = database
    .prepare(`SELECT * FROM other.payment AS record
      WHERE NOT EXISTS (SELECT 1 FROM main.payment WHERE id = record.id) ORDER BY createdAt, id`)
    .all();
  return z.array(storedRecord).parse(rows);
}
