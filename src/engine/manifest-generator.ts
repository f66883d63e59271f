import { createHash } from 'node:crypto';
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  visit,
} from 'graphql';
import type { CheckDocument } from './validation-rules.ts';

/** A file with operations and fragments. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

export interface GeneratedManifest {
  /** Document texts by id, the SHA-256 of the text in hexadecimal. */
  readonly manifest: Readonly<Record<string, string>>;
  /** The id of each operation. */
  readonly operations: readonly { readonly id: string; readonly name: string; readonly file: string }[];
  /** The operations that are left out of the manifest, and why. */
  readonly refused: readonly { readonly file: string; readonly reason: string }[];
}

/**
 * Creates a document for each operation, with the fragments that it uses from any of the files, in the form that
 * graphql's `print` gives it: the operation, then its fragments sorted by name. Names are unique among all files.
 */
export function generateManifest(sources: readonly Source[], check: CheckDocument): GeneratedManifest {
  const fragments = new Map<string, { file: string; node: FragmentDefinitionNode }>();
  const operations = new Map<string, { file: string; node: OperationDefinitionNode }>();
  const refused: { file: string; reason: string }[] = [];
  const attempt = (file: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      refused.push({ file, reason: reason.replaceAll(/\s+/g, ' ') });
    }
  };
  const add = <T>(known: Map<string, { file: string; node: T }>, name: string, file: string, node: T) => {
    const other = known.get(name);
    if (other !== undefined) throw new Error(`${name} is the name of another one in ${other.file}`);
    known.set(name, { file, node });
  };

  for (const { file, text } of sources) {
    attempt(file, () => {
      for (const node of parse(text, { noLocation: true }).definitions) {
        if (node.kind === Kind.FRAGMENT_DEFINITION) add(fragments, node.name.value, file, node);
        else if (node.kind !== Kind.OPERATION_DEFINITION)
          throw new Error('it holds something else than operations and fragments');
        else if (node.name === undefined) throw new Error('an operation has no name');
        else add(operations, node.name.value, file, node);
      }
    });
  }

  const made: { id: string; name: string; file: string; text: string }[] = [];
  for (const [name, { file, node }] of operations) {
    attempt(file, () => {
      const text = print(withFragments(node, (used) => fragments.get(used)?.node));
      check(text);
      made.push({ id: createHash('sha256').update(text).digest('hex'), name, file, text });
    });
  }
  return {
    manifest: Object.fromEntries(made.map(({ id, text }) => [id, text])),
    operations: made.map(({ id, name, file }) => ({ id, name, file })),
    refused,
  };
}

/** A document of the operation and its fragments. Validation reports fragments that do not exist. */
function withFragments(
  operation: OperationDefinitionNode,
  find: (name: string) => FragmentDefinitionNode | undefined,
): DocumentNode {
  const used = new Map<string, FragmentDefinitionNode>();
  const collect = (node: OperationDefinitionNode | FragmentDefinitionNode) => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = find(name.value);
        if (fragment === undefined || used.has(name.value)) return;
        used.set(name.value, fragment);
        collect(fragment);
      },
    });
  };
  collect(operation);
  const names = [...used.keys()].sort();
  return {
    kind: Kind.DOCUMENT,
    definitions: [operation, ...names.flatMap((name) => used.get(name) ?? [])],
  };
}
