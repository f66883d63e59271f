import { readFile } from 'node:fs/promises';
import type { DocumentNode } from 'graphql';
import { z } from 'zod';
import { messageOf, StartError } from '../errors.ts';
import { decodeText } from '../plain-text.ts';
import { createDocumentCheck, type DocumentRules } from './validation.ts';

/** The format of graphql-codegen's client preset and of Relay: texts by id. */
const Plain = z.record(z.string(), z.string());

/** The format of Apollo's operation manifest. */
const Apollo = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.literal(1),
  operations: z.array(z.object({ id: z.string().min(1), body: z.string() })),
});

/** An id without the prefix that GraphQL over HTTP defines for SHA-256. */
export const plainId = (id: string): string => id.replace(/^sha256:/, '');

/**
 * Reads a manifest in any of the three formats: the texts of its documents by their ids.
 * Errors: an Error that says what is wrong.
 */
async function readManifest(file: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    // Node's own message would repeat the path.
    const remedy = 'correct the path: docs/operate.md names the tools that write a manifest.';
    throw new Error(`the file cannot be read (${cause.code}): ${remedy}`, { cause });
  });
  for (const [id, text] of entriesOf(JSON.parse(decodeText(bytes)))) {
    if (texts.has(plainId(id))) throw new Error(`two documents have the id ${id}`);
    texts.set(plainId(id), text);
  }
  if (texts.size === 0) throw new Error('it holds no document.');
  return texts;
}

export type PersistedDocuments = Awaited<ReturnType<typeof loadPersistedDocuments>>;

/**
 * Reads a manifest, and checks each document like that of a request.
 * Shape:  `texts`, by the documents' ids, and the `parsed` documents, by text.
 * Errors: StartError, which names the file, the document and what is wrong, in one line.
 */
export async function loadPersistedDocuments(file: string, rules: DocumentRules) {
  const refuse = (why: string, cause?: unknown) =>
    new StartError(`PERSISTED_DOCUMENTS=${file} cannot be used: ${why.replaceAll(/\s+/g, ' ')}`, { cause });
  const texts = await readManifest(file).catch((error: unknown) => {
    throw refuse(messageOf(error), error);
  });
  const check = createDocumentCheck(rules);
  const parsed = new Map<string, DocumentNode>();
  for (const [id, text] of texts) {
    try {
      parsed.set(text, check(text));
    } catch (error) {
      throw refuse(`document ${id}: ${messageOf(error)}`, error);
    }
  }
  return { texts, parsed };
}

/** Errors: an Error that describes a valid manifest. */
function entriesOf(manifest: unknown): readonly (readonly [string, string])[] {
  const apollo = Apollo.safeParse(manifest);
  if (apollo.success) return apollo.data.operations.map(({ id, body }) => [id, body]);
  const plain = Plain.safeParse(manifest);
  if (plain.success) return Object.entries(plain.data);
  throw new Error(
    'it is neither an object of texts by their ids nor an Apollo manifest, {"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id","body"}]}.',
  );
}
