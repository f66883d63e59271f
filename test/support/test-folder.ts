import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder for the tests of a file, or of the block that calls this. It is deleted after these tests. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Creates a function that writes a file into this folder.
 * Shape: the file's path.
 */
export const fileWriter =
  (folder: string) =>
  (name: string, content: string | Buffer): string => {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  };
