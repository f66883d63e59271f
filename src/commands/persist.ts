import { hash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type FragmentDefinitionNode,
  Kind,
  NoDeprecatedCustomRule,
  type OperationDefinitionNode,
  parse,
  print,
  separateOperations,
  validate,
} from 'graphql';
import { readConfig } from '../config/config.ts';
import type { CheckDocument } from '../engine/validation.ts';
import { messageOf, orStop, StartError, stopStart } from '../errors.ts';
import { readManifest } from '../options/persisted-documents.ts';
import { decodeText } from '../plain-text.ts';
import { schema } from '../schema/schema.ts';
import { type CliContext, readWords } from './command.ts';
import { documentCheckOf } from './schema.ts';

/** `bankql persist`: makes a manifest of documents, or checks those there are. Gives the exit code. */
export async function persist({ args, write }: CliContext): Promise<number> {
  // Only the schema is needed: builds of apps have no bank.
  const check = documentCheckOf(readConfig({}));
  const [task, ...files] = args;
  // A folder may be called "check" too, but --out is only for making a manifest.
  const isCheck = task === 'check' && !files.some((word) => word.startsWith('--out'));
  return isCheck ? checkManifests(files, check, write) : makeManifest(args, check, write);
}

/**
 * `bankql persist`: creates a manifest of the operations in a folder and prints their ids. If one of them is
 * refused, the file is not written.
 * Shape:  the exit code: 0, or 1 if an operation was refused.
 * Errors: StartError.
 */
async function makeManifest(
  args: readonly string[],
  check: CheckDocument,
  write: CliContext['write'],
): Promise<number> {
  const { folder, out } = readOptions(args);
  const { documents, refused } = generateManifest(await sourcesIn(folder), check);
  if (refused.length > 0) {
    for (const { file, reason } of refused) write(`${file}: ${reason}\n`);
    write(`${refused.length} refused; ${out} is not written.\n`);
    return 1;
  }
  const manifest = Object.fromEntries(documents.map(({ id, text }) => [id, text]));
  const json = `${JSON.stringify(manifest, null, 2)}\n`;
  await writeFile(out, json).catch(stopStart(`--out ${out} cannot be written: `));
  for (const { id, name, file } of documents) write(`${id}  ${name}  ${file}\n`);
  write(`${documents.length} documents are in ${out}.\n`);
  return 0;
}

function readOptions(args: readonly string[]): { folder: string; out: string } {
  const { values, positionals } = readWords('persist', args, { out: { type: 'string' } });
  const [folder, ...more] = positionals;
  if (folder !== undefined && more.length === 0 && values.out !== undefined)
    return { folder, out: values.out };
  throw new StartError('Name one folder, and the file to write: see bankql persist --help.');
}

async function sourcesIn(folder: string) {
  const names = await readdir(folder, { recursive: true }).catch(stopStart(`${folder} cannot be read: `));
  const files = names.filter((name) => name.endsWith('.graphql')).sort();
  if (files.length === 0) throw new StartError(`${folder} holds no .graphql file.`);
  return Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(join(folder, file));
      return { file, text: orStop(() => decodeText(bytes), `${file} cannot be used: `) };
    }),
  );
}

/**
 * `bankql persist check`: holds the documents of manifests against the schema, the limits and the rules of this version, as
 * the start does, but tells of all of them, and of what they use that is deprecated.
 * Shape:  the exit code: 0, or 1 if a document would be refused.
 * Errors: StartError.
 */
async function checkManifests(
  files: readonly string[],
  check: CheckDocument,
  write: CliContext['write'],
): Promise<number> {
  const option = files.find((word) => word.startsWith('-'));
  if (option !== undefined) throw new StartError(`There is no option ${option}: see bankql persist --help.`);
  if (files.length === 0)
    throw new StartError('Name the manifests to check, such as bankql persist check manifest.json.');
  let refusedInAll = 0;
  for (const file of files) {
    const texts = await readManifest(file).catch((cause: Error) => {
      throw new StartError(`${file} cannot be read as a manifest: ${oneLine(cause.message)}`, {
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
        write(`${label}: refused: ${oneLine(messageOf(error))}\n`);
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

/** The name of a document's first operation, even if the document cannot be parsed; empty if the operation has no name. */
const nameOf = (text: string): string => /^\s*(?:query|mutation|subscription)\s+(\w+)/m.exec(text)?.[1] ?? '';

/**
 * Creates a document for each operation, with the fragments that it uses from any of the files, in the form that
 * graphql's `print` gives it: the operation, then its fragments sorted by name. Names are unique among all files.
 * Shape: the documents, each with its id, the SHA-256 of its text in hexadecimal; and the refused ones, with the reasons.
 */
function generateManifest(
  sources: readonly { readonly file: string; readonly text: string }[],
  check: CheckDocument,
) {
  const fragments = new Map<string, { file: string; node: FragmentDefinitionNode }>();
  const operations = new Map<string, { file: string; node: OperationDefinitionNode }>();
  const refused: { file: string; reason: string }[] = [];
  const attempt = (file: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      refused.push({ file, reason: oneLine(messageOf(error)) });
    }
  };
  const add = <T>(known: Map<string, { file: string; node: T }>, name: string, file: string, node: T) => {
    const other = known.get(name);
    if (other !== undefined) throw new Error(`${name} is the name of another one in ${other.file}`);
    known.set(name, { file, node });
  };

  for (const { file, text } of sources) {
    attempt(file, () => {
      const { definitions } = parse(text, { noLocation: true, allowEmptySelectionSets: false });
      for (const node of definitions) {
        if (node.kind === Kind.FRAGMENT_DEFINITION) add(fragments, node.name.value, file, node);
        else if (node.kind !== Kind.OPERATION_DEFINITION)
          throw new Error('it holds something else than operations and fragments');
        else if (node.name === undefined) throw new Error('an operation has no name');
        else add(operations, node.name.value, file, node);
      }
    });
  }

  const sorted = [...fragments.keys()].sort().flatMap((name) => fragments.get(name)?.node ?? []);
  const documents: { id: string; name: string; file: string; text: string }[] = [];
  for (const [name, { file, node }] of operations) {
    attempt(file, () => {
      // It leaves out the fragments that the operation does not use; validation reports those that do not exist.
      const separated = separateOperations({ kind: Kind.DOCUMENT, definitions: [node, ...sorted] });
      const text = Object.values(separated).map(print).join('');
      check(text);
      documents.push({ id: hash('sha256', text), name, file, text });
    });
  }
  return { documents, refused };
}
