import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { access, constants, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { counted, messageOf } from '../errors.ts';
import { createSerialQueue } from '../serial-queue.ts';

/**
 * A payment store's high-water mark: how much was ever written to it. It is kept outside the store, in small files, so
 * that a store that has lost records (a deleted log, an old copy, an empty server) is detected before payments are sent
 * a second time. A mark may lag behind its store; a store never lags behind its mark.
 */
export type HighWaterMark = Readonly<z.infer<typeof highWaterMark>>;

export const highWaterMark = z.object({
  /** The store's identity, made with it. */
  storeId: z.string().min(1),
  /** How many payments were ever begun in it, including those purged since. */
  began: z.int().nonnegative(),
  /** The newest time at which one began, in milliseconds since 1970; null if none did. */
  newestAt: z.int().nullable(),
});

/** The mark in a file; null if there is no file. Errors: an Error that names the file and the reason. */
export function readMark(file: string): HighWaterMark | null {
  try {
    return highWaterMark.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    const reason = error instanceof Error && 'code' in error ? error.message : 'it holds no mark';
    throw new Error(`the high-water mark ${file} cannot be read (${reason.split('\n', 1)[0]})`);
  }
}

/** The same; null also if it is damaged. */
export function readableMark(file: string): HighWaterMark | null {
  try {
    return readMark(file);
  } catch {
    return null;
  }
}

/** The higher of two marks; if they belong to different stores, the second. */
export function higherMark(mark: HighWaterMark | null, other: HighWaterMark): HighWaterMark {
  return mark === null || mark.storeId !== other.storeId || mark.began <= other.began ? other : mark;
}

/**
 * Describes the records that are missing from a store whose high-water mark elsewhere is `mark`, in one sentence that
 * follows the store's name ("… is not available: "); null if the store holds at least what the mark says.
 * Shape: `where` names the mark.
 */
export function describeLoss(held: HighWaterMark, mark: HighWaterMark, where: string): string | null {
  // A store in which nothing was begun has nothing to lose.
  if (mark.began === 0) return null;
  const known = `${where} knows of ${payments(mark)}`;
  if (held.storeId !== mark.storeId) {
    const holds =
      held.began === 0 ? 'it is new and holds none of them' : `it is another store, of ${payments(held)}`;
    return `it has lost records: ${known}, and ${holds}`;
  }
  const missing = mark.began - held.began;
  if (
    missing <= 0 &&
    (held.newestAt ?? Number.NEGATIVE_INFINITY) >= (mark.newestAt ?? Number.NEGATIVE_INFINITY)
  )
    return null;
  const since = held.newestAt === null ? 'all of them' : `what began after ${time(held.newestAt)}`;
  return `it has lost records: ${known}, and it holds ${held.began} of them; missing is ${since}`;
}

const payments = ({ began, newestAt }: HighWaterMark) =>
  `${counted(began, 'payment')}${newestAt === null ? '' : ` until ${time(newestAt)}`}`;

const time = (at: number) => new Date(at).toISOString();

/**
 * Writes a store's mark to a file, atomically and with fsync. It skips a file that has a higher mark, since another
 * process that shares the file may have written a newer one. Only two simultaneous writes can lower it, until the next
 * write. Another store's mark is replaced. Failures go to `onFailure`, with null for the first success after one:
 * payments do not depend on it.
 * Shape: a function that writes a mark, and resolves when it, or a higher one, is on the disk, or the write has failed. Calls during
 *        a write share the next one.
 */
export function createMarkWriter(file: string, onFailure: (reason: string | null) => void) {
  // One for each writer, because processes share the file.
  const draft = `${file}.${randomUUID().slice(0, 8)}`;
  const writes = createSerialQueue();
  let newest: HighWaterMark | null = null;
  let written: HighWaterMark | null = null;
  let failed = false;
  let cleanedAt = Number.NEGATIVE_INFINITY;

  async function writeNewest(): Promise<void> {
    const mark = newest;
    if (mark === null || mark === written) return;
    if (performance.now() - cleanedAt > cleanEveryMs) {
      cleanedAt = performance.now();
      // The others that share the file may be faster.
      await removeOldDrafts(file).catch(() => {});
    }
    try {
      // A damaged file is overwritten.
      if (higherMark(readableMark(file), mark) === mark) {
        await writeFile(draft, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
        keepOwner(draft, file);
        await rename(draft, file);
      }
      if (failed) onFailure(null);
      failed = false;
      written = mark;
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      if (!failed) onFailure(messageOf(error));
      failed = true;
    }
  }

  return (mark: HighWaterMark): Promise<void> => {
    newest = higherMark(newest, mark);
    return writes.run(writeNewest);
  };
}

/** How often drafts are looked for that killed processes left. */
const cleanEveryMs = 60_000;

/** Errors: an Error with the remedy, where the file's folder is missing or may not be written. */
export async function checkWitness(file: string): Promise<void> {
  await access(dirname(file), constants.W_OK).catch((cause: Error) => {
    const remedy = 'it has to name a file in a folder that is there and that this user may write';
    throw new Error(`STATE_WITNESS is ${file}: ${remedy} (${cause.message}).`, { cause });
  });
}

/** A draft lives for milliseconds: an older one is what a process left that was killed. */
const draftMs = 10_000;

async function removeOldDrafts(file: string): Promise<void> {
  const name = basename(file);
  for (const entry of await readdir(dirname(file))) {
    if (!entry.startsWith(`${name}.`) || !/^[0-9a-f]{8}$/.test(entry.slice(name.length + 1))) continue;
    const draft = join(dirname(file), entry);
    const { mtimeMs } = await stat(draft);
    if (Date.now() - mtimeMs > draftMs) await rm(draft, { force: true });
  }
}

/**
 * Gives a new file the owner and the mode of the one that it is about to replace, or, if it replaces no file, the owner of its
 * folder: what root writes stays usable for the service.
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
