import { NoDeprecatedCustomRule, validate } from 'graphql';
import { schema } from '../schema/schema.ts';
import type { DocumentLimits } from './document-limits.ts';
import { PersistOptionError } from './persisted-command.ts';
import { readManifest } from './persisted-manifest.ts';
import { createDocumentCheck } from './validation-rules.ts';

const usage = 'bankql persist check manifest.json';

/**
 * `bankql persist check`: holds the documents of manifests against the schema, the limits and the rules of this version, as
 * the start does, but tells of all of them, and of what they use that is deprecated.
 * Shape:  the exit code: 0, or 1 if a document would be refused.
 * Errors: PersistOptionError.
 */
export async function runPersistCheck(
  files: readonly string[],
  documentLimits: DocumentLimits,
  write: (text: string) => void,
): Promise<number> {
  const option = files.find((word) => word.startsWith('-'));
  if (option !== undefined) throw new PersistOptionError(`There is no option ${option}: ${usage}`);
  if (files.length === 0) throw new PersistOptionError(`Name the manifests to check: ${usage}`);
  // As in the making of a manifest: whether introspection is allowed is the server's.
  const check = createDocumentCheck({ documentLimits, introspection: true });
  let refusedInAll = 0;
  for (const file of files) {
    const texts = await readManifest(file).catch((cause: Error) => {
      throw new PersistOptionError(`${file} cannot be read as a manifest: ${oneLine(cause.message)}`, {
        cause,
      });
    });
    let [refused, outdated] = [0, 0];
    for (const [id, text] of texts) {
      const label = [id, nameOf(text)].join('  ').trimEnd();
      try {
        const uses = validate(schema, check(text), [NoDeprecatedCustomRule]);
        for (const { message } of uses) write(`${label}: deprecated: ${oneLine(message)}\n`);
        if (uses.length > 0) outdated += 1;
      } catch (error) {
        write(`${label}: refused: ${oneLine(error instanceof Error ? error.message : String(error))}\n`);
        refused += 1;
      }
    }
    write(
      `${file}: of ${texts.size} documents ${refused} would be refused, ${outdated} use what is deprecated.\n`,
    );
    refusedInAll += refused;
  }
  return refusedInAll === 0 ? 0 : 1;
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');

/** The name of a document's first operation, also where it cannot be parsed; empty where it has none. */
const nameOf = (text: string): string => /^\s*(?:query|mutation|subscription)\s+(\w+)/m.exec(text)?.[1] ?? '';
