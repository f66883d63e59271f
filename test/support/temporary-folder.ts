import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const memory = '/dev/shm';
/** Much more than the tests need at once for servers of PostgreSQL and a browser. */
const enough = 2 * 1024 ** 3;

/** The folder for files of tests: in memory if the system has enough, because stores wait for a disk at each payment. */
export function temporaryFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= enough ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}
