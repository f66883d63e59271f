import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DocumentNode } from 'graphql';
import { z } from 'zod';
import { messageOf, StartError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
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

/** A checked document of one manifest or more. */
export interface PersistedDocument {
  readonly node: DocumentNode;
  /** The apps whose manifests contain this document. */
  readonly apps: readonly string[];
}

export type PersistedDocuments = Awaited<ReturnType<typeof loadPersistedDocuments>>;

/** The names that the log and the metrics have for documents of several manifests, of none, and of the tools for agents. */
const ownNames: ReadonlySet<string> = new Set(['several', 'other', 'agents']);

/**
 * Reads a manifest, or a folder with one for each version of an app, and checks each document like that of a request.
 * Shape:  `apps`, the names of the manifests' files without `.json`; `texts`, by the documents' ids; the `parsed` documents, by text.
 * Errors: StartError with a line for each problem, which names the file, the document and what is wrong.
 */
export async function loadPersistedDocuments(path: string, rules: DocumentRules) {
  const check = createDocumentCheck(rules);
  const problems: string[] = [];
  const texts = new Map<string, string>();
  const origins = new Map<string, string>();
  const parsed = new Map<string, { readonly node: DocumentNode; readonly apps: string[] }>();
  const refuse = (where: string) => (why: unknown) => {
    const reason = messageOf(why).replaceAll(/\s+/g, ' ');
    problems.push(`PERSISTED_DOCUMENTS=${path} cannot be used: ${where}${reason}`);
    return [];
  };

  /** Errors: an Error that says why the document cannot be used. */
  function add(app: string, id: string, text: string): void {
    const origin = getOrMake(origins, id, () => app);
    if (getOrMake(texts, id, () => text) !== text)
      throw new Error(`it has another text in ${origin}. An id stands for one document.`);
    const { apps } = getOrMake(parsed, text, () => ({ node: check(text), apps: [] }));
    if (!apps.includes(app)) apps.push(app);
  }

  const files = await manifestsIn(path).catch(refuse(''));
  for (const { app, file, where } of files) {
    if (ownNames.has(app))
      refuse(where)(`give it another name: bankql itself uses "${app}" in the log and the metrics.`);
    for (const [id, text] of await readManifest(file).catch(refuse(where)))
      try {
        add(app, id, text);
      } catch (error) {
        refuse(`${where}document ${id}: `)(error);
      }
  }
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return { apps: files.map(({ app }) => app), texts, parsed };
}

/**
 * Lists the manifests: the name of each one's app, its file, and the prefix of its messages. Hidden entries are left out, because
 * Kubernetes has some in the folder of a config map.
 * Errors: an Error if a folder has no manifest.
 */
async function manifestsIn(path: string) {
  const appOf = (file: string) => basename(file).replace(/\.json$/i, '');
  const names = await readdir(path).catch(() => null);
  // A path that is not a folder is a file, or cannot be read.
  if (names === null) return [{ app: appOf(path), file: path, where: '' }];
  const manifests = names.filter((name) => /^[^.].*\.json$/i.test(name)).sort();
  if (manifests.length === 0) throw new Error('the folder has no manifest, such as ios-4.2.json.');
  return manifests.map((name) => ({ app: appOf(name), file: join(path, name), where: `${name}: ` }));
}

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

/** The ids and texts in a manifest. Errors: an Error that describes a valid manifest. */
function entriesOf(manifest: unknown): readonly (readonly [string, string])[] {
  const apollo = Apollo.safeParse(manifest);
  if (apollo.success) return apollo.data.operations.map(({ id, body }) => [id, body]);
  const plain = Plain.safeParse(manifest);
  if (plain.success) return Object.entries(plain.data);
  throw new Error(
    'it is neither an object of texts by their ids nor an Apollo manifest, {"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id","body"}]}.',
  );
}
