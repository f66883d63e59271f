import { linkSync } from 'node:fs';
import { resolve as absolute } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  busyTimeoutMs,
  copyStore,
  draftOf,
  reasonOf,
  removeDatabase,
  type StoreContents,
  syncFolder,
} from './copy.ts';

export type { StoreContents } from './copy.ts';
export { type Restored, type RestoreOptions, restoreStore } from './restore.ts';
export type { RestorePlan } from './restore-plan.ts';

/**
 * Copies a SQLite store's file while bankql serves, and verifies the copy.
 * Shape:  what the copy holds. The copy is one file, mode 0600. It gets its name only when it is complete and synced to
 *         disk.
 * Errors: an Error that names the file and the reason; then there is no copy. An existing file is never overwritten.
 */
export async function backupStore(path: string, target: string): Promise<StoreContents> {
  const draft = draftOf(target);
  try {
    using source = new DatabaseSync(absolute(path), { readOnly: true, timeout: busyTimeoutMs });
    const contents = await copyStore(source, draft);
    // Unlike a rename, this fails where the name is taken.
    linkSync(draft, target);
    syncFolder(target);
    return contents;
  } catch (error) {
    throw new Error(`${path} was not copied to ${target}: ${reasonOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
  }
}
