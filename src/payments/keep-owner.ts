import { chmodSync, chownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives a new file the owner and the mode of the one that it is about to replace, or, if there is none, the owner of its folder:
 * what root writes stays usable for the service.
 */
export function keepOwner(file: string, replaced: string): void {
  const old = statSync(replaced, { throwIfNoEntry: false });
  const { uid, gid } = old ?? statSync(dirname(replaced));
  try {
    chownSync(file, uid, gid);
  } catch {
    // Only root may give files away; everybody else writes their own.
  }
  if (old !== undefined) chmodSync(file, old.mode & 0o777);
}
