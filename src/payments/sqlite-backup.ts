import type { PaymentRecord } from './store.ts';

/** What a store's file holds. */
export interface StoreContents {
  readonly records: number;
  readonly pending: number;
  readonly unknown: number;
  /** How many payments were ever begun in it. */
  readonly began: number;
  /** When the newest record began, in milliseconds since 1970; null where there is none. */
  readonly newestAt: number | null;
}

export interface RestoreOptions {
  /** Who decided it, and why: it stays in the store. */
  readonly by: string;
  readonly now: number;
  /** As OpenStoreOptions has it: its mark is rewritten as well. */
  readonly witness?: string | undefined;
  /** Is asked with what the restore would do, before anything is replaced; by default it does it. */
  readonly confirm?: ((plan: RestorePlan) => Promise<boolean>) | undefined;
}

export interface RestorePlan {
  readonly backup: StoreContents;
  /** The records of the replaced file that the backup does not hold: a client that sends them again pays again. */
  readonly missing: readonly PaymentRecord[];
  /** How many payments beyond these were begun after the backup, as the high-water mark knows; they have no names. */
  readonly unnamed: number;
  /** Why the replaced file could not be read, so that `missing` is empty; null where it was read. */
  readonly unreadable: string | null;
}

export interface Restored extends RestorePlan {
  /** Where the replaced file is now; null where there was none. */
  readonly replaced: string | null;
}

/**
 * Copies a SQLite store's file while bankql serves, and verifies the copy.
 * Shape:  what the copy holds. The copy is one file, mode 0600, complete and on the disk once it has its name.
 * Errors: an Error that names the file and the reason; then there is no copy. An existing file is never overwritten.
 */
export async function backupStore(path: string, target: string): Promise<StoreContents> {
  throw new Error(`${path} cannot be copied to ${target} yet`);
}

/**
 * Puts a backup in the place of a SQLite store's file, which is kept as PATH.replaced-<time>, and makes its mark fit.
 * Shape:  what was done; null where `confirm` said no, and nothing was changed.
 * Errors: an Error that says why nothing was changed: a bankql has the file open, or the backup is none or damaged.
 */
export async function restoreStore(
  backup: string,
  path: string,
  options: RestoreOptions,
): Promise<Restored | null> {
  throw new Error(`${backup} cannot be restored to ${path} yet, for ${options.by}`);
}
