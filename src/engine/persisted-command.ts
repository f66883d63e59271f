import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DocumentLimits } from './document-limits.ts';
import { generateManifest } from './manifest-generator.ts';
import { createDocumentCheck } from './validation-rules.ts';

const usage = 'npm run persist -- --out manifest.json <folder with .graphql files>';

/** Invalid options of the command; the message is one line. */
export class PersistOptionError extends Error {
  override readonly name = 'PersistOptionError';
}

/**
 * `bankql persist`: creates a manifest of the operations in a folder and prints their ids. If one of them is
 * refused, the file is not written.
 * Shape:  the exit code: 0, or 1 if an operation was refused.
 * Errors: PersistOptionError.
 */
export async function runPersist(
  args: readonly string[],
  documentLimits: DocumentLimits,
  write: (text: string) => void,
): Promise<number> {
  const { folder, out } = readOptions(args);
  // If introspection is disabled, startup refuses a manifest that uses it.
  const check = createDocumentCheck({ documentLimits, introspection: true });
  const { manifest, operations, refused } = generateManifest(await sourcesIn(folder), check);
  if (refused.length > 0) {
    for (const { file, reason } of refused) write(`${file}: ${reason}\n`);
    write(`${refused.length} refused; ${out} is not written.\n`);
    return 1;
  }
  await writeFile(out, `${JSON.stringify(manifest, null, 2)}\n`).catch((cause: Error) => {
    throw new PersistOptionError(`--out ${out} cannot be written: ${cause.message}`, { cause });
  });
  for (const { id, name, file } of operations) write(`${id}  ${name}  ${file}\n`);
  write(`${operations.length} documents are in ${out}.\n`);
  return 0;
}

function readOptions(args: readonly string[]): { folder: string; out: string } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { out: { type: 'string' } },
      allowPositionals: true,
    });
    const [folder, ...more] = positionals;
    if (folder !== undefined && more.length === 0 && values.out !== undefined)
      return { folder, out: values.out };
  } catch (cause) {
    throw new PersistOptionError(`${cause instanceof Error ? cause.message : cause} Use ${usage}`, { cause });
  }
  throw new PersistOptionError(`Name one folder, and the file to write: ${usage}`);
}

async function sourcesIn(folder: string) {
  const names = await readdir(folder, { recursive: true }).catch((cause: Error) => {
    throw new PersistOptionError(`${folder} cannot be read: ${cause.message}`, { cause });
  });
  const files = names.filter((name) => name.endsWith('.graphql')).sort();
  if (files.length === 0) throw new PersistOptionError(`${folder} holds no .graphql file.`);
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(folder, file), 'utf8') })));
}
