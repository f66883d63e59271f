import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const memory = '/dev/shm';
/** Well above what the tests keep at once: servers of PostgreSQL, and a browser. */
const enough = 2 * 1024 ** 3;

/** Where tests put files: in memory where the system has room, since stores wait for a disk at each payment. */
export function temporaryFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= enough ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}
