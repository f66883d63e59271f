import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { messageOf, StartError } from '../errors.ts';
import { eachSelection, fragmentsOf } from '../executor/selection.ts';
import type { Persisted } from '../graphql/params.ts';
import { createDocumentCheck, type DocumentRules, paymentDeliveries } from '../graphql/validation.ts';
import { decodeText } from '../plain-text.ts';
import { isPayment } from '../schema/plugin/field-extensions.ts';
import { type ObjectSchema, variablesSchema } from './json-schema.ts';

/** One named operation of the folder MCP_DOCUMENTS, as a tool. */
export interface Tool {
  /** The operation's name. */
  readonly name: string;
  readonly description: string | undefined;
  readonly kind: 'query' | 'mutation';
  /** The text of the document, which may have other operations. */
  readonly document: string;
  /** SHA-256 of the document, in hexadecimal. */
  readonly documentHash: string;
  readonly inputSchema: ObjectSchema;
  /**
   * The place of the idempotency key, which bankql fills in; null for a tool that only reads. Every mutation is a
   * payment.
   */
  readonly key: KeyPlace | null;
}

/** The variable that has the idempotency key of a payment, or the whole input with the key as a member. */
interface KeyPlace {
  readonly variable: string;
  readonly isMember: boolean;
}

/** The tools by name, in the order of the names, and their documents as the operations of one server. */
export interface Tools {
  readonly byName: ReadonlyMap<string, Tool>;
  /** The documents that can be executed, with their names as ids. */
  readonly persisted: Persisted;
}

/** The maximum length of a tool's name. Longer names are cut in the log, and clients refuse them. */
const maxName = 64;

/** The name of the app for agents, in the log and in metrics. */
export const agentsApp = 'agents';

interface ToolRules extends DocumentRules {
  readonly schema: GraphQLSchema;
}

/**
 * Reads the tools: each named operation in the `.graphql` files of a folder.
 * Errors: StartError, which names the file, the operation and what is wrong, in one line.
 */
export async function loadTools(folder: string, rules: ToolRules): Promise<Tools> {
  const refuse = (why: string, cause?: unknown) =>
    new StartError(`MCP_DOCUMENTS=${folder} cannot be used: ${why.replaceAll(/\s+/g, ' ')}`, { cause });
  const names = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    throw refuse(`the folder cannot be read (${cause.code}).`, cause);
  });
  // Hidden entries are skipped: editors and Kubernetes make them in a folder.
  const files = names.filter((name) => /^[^.].*\.graphql$/.test(name)).sort();
  if (files.length === 0) throw refuse('it holds no file that ends in .graphql.');
  const check = createDocumentCheck(rules);
  const tools = new Map<string, Tool & { readonly file: string }>();
  const parsed = new Map<string, { readonly node: DocumentNode; readonly apps: string[] }>();
  for (const file of files) {
    const inFile = (error: unknown) => refuse(`${file}: ${messageOf(error)}`, error);
    try {
      const document = decodeText(await readFile(join(folder, file)));
      const node = check(document);
      parsed.set(document, { node, apps: [agentsApp] });
      for (const tool of toolsIn(document, node, rules.schema)) {
        const other = tools.get(tool.name)?.file;
        if (other !== undefined)
          throw new Error(
            `${tool.name}: ${other === file ? 'it' : other} has an operation of this name too.`,
          );
        tools.set(tool.name, { ...tool, file });
      }
    } catch (error) {
      throw inFile(error);
    }
  }
  // The order does not depend on the locale, so that it is the same in each process.
  const sorted = [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    byName: new Map(sorted.map(({ file: _, ...tool }) => [tool.name, tool])),
    persisted: {
      documents: { texts: new Map(sorted.map(({ name, document }) => [name, document])), parsed },
      only: true,
    },
  };
}

/** Errors: an Error that names the operation, and says why it cannot be a tool. */
function toolsIn(document: string, node: DocumentNode, schema: GraphQLSchema): Tool[] {
  const operations = node.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  if (operations.length === 0) throw new Error('it holds no operation.');
  return operations.map((operation) => {
    const name = operation.name?.value;
    if (name === undefined) throw new Error('an operation has no name: the name is the name of the tool.');
    try {
      return toolOf(name, operation, { document, node, schema });
    } catch (error) {
      throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
    }
  });
}

interface DocumentParts {
  readonly document: string;
  readonly node: DocumentNode;
  readonly schema: GraphQLSchema;
}

function toolOf(name: string, operation: OperationDefinitionNode, parts: DocumentParts): Tool {
  const { document, node, schema } = parts;
  if (name.length > maxName) throw new Error(`a name has ${maxName} characters at most.`);
  const fragments = fragmentsOf(node);
  eachSelection([operation], fragments, (each) => {
    if (each.kind === Kind.FIELD && /^__(schema|type)$/.test(each.name.value))
      throw new Error('a tool may not introspect.');
    return true;
  });
  const inputSchema = variablesSchema(schema, operation);
  const description = operation.description?.value;
  const tool = { name, description, document, documentHash: hash('sha256', document) };
  if (operation.operation === 'query') return { ...tool, kind: 'query', inputSchema, key: null };
  const key = keyPlaceOf(operation, fragments, schema);
  return { ...tool, kind: 'mutation', inputSchema: withoutKey(inputSchema, key), key };
}

/**
 * Finds the place of a payment's idempotency key. bankql creates the key, so the caller and the document must not set it. Errors:
 * an Error that says why the operation is not a payment with one visible outcome.
 */
function keyPlaceOf(
  operation: OperationDefinitionNode,
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
  schema: GraphQLSchema,
): KeyPlace {
  const [root, ...others] = operation.selectionSet.selections;
  const field = root?.kind === Kind.FIELD ? schema.getMutationType()?.getFields()[root.name.value] : null;
  if (root?.kind !== Kind.FIELD || others.length > 0)
    throw new Error('a mutation of a tool has one field, which is a payment, and no fragment around it.');
  if (field == null || !isPayment(field))
    throw new Error(`${root.name.value} is no payment: tools read and pay, and change nothing else.`);
  if (root.directives?.length) throw new Error('the payment may have no directive.');
  for (const deliveries of paymentDeliveries(schema, operation, fragments).values())
    if (!deliveries.has('first'))
      throw new Error(
        'the outcome has to be seen: select userErrors, or payment { state }, without @defer and without a condition.',
      );
  const place = placeIn(root);
  const definition = operation.variableDefinitions?.find(
    ({ variable }) => variable.name.value === place.variable,
  );
  if (definition?.defaultValue !== undefined)
    throw new Error(`$${place.variable} has a default, which would choose the idempotency key.`);
  let uses = 0;
  for (const each of [operation.selectionSet, ...Object.values(fragments)])
    visit(each, {
      Variable({ name }) {
        if (name.value === place.variable) uses++;
      },
    });
  if (uses > 1) throw new Error(`$${place.variable} is used ${uses} times: it holds the idempotency key.`);
  return place;
}

function placeIn({ arguments: given = [] }: FieldNode): KeyPlace {
  const input = given.find(({ name }) => name.value === 'input')?.value;
  if (input?.kind === Kind.VARIABLE) return { variable: input.name.value, isMember: true };
  const key =
    input?.kind === Kind.OBJECT
      ? input.fields.find(({ name }) => name.value === keyMember)?.value
      : undefined;
  if (key?.kind !== Kind.VARIABLE)
    throw new Error('the idempotencyKey has to be a variable: bankql makes a new key for each payment.');
  return { variable: key.name.value, isMember: false };
}

export const keyMember = 'idempotencyKey';

/** The schema of the visible arguments, without the key. */
function withoutKey(schema: ObjectSchema, { variable, isMember }: KeyPlace): ObjectSchema {
  if (!isMember) return without(schema, variable);
  const input = schema.properties[variable];
  if (input?.properties === undefined) throw new Error(`$${variable} is no input of a payment.`);
  return { ...schema, properties: { ...schema.properties, [variable]: without(input, keyMember) } };
}

function without<T extends ObjectSchema | NonNullable<ObjectSchema['properties'][string]>>(
  schema: T,
  name: string,
): T {
  const { [name]: _, ...properties } = schema.properties ?? {};
  return { ...schema, properties, required: (schema.required ?? []).filter((each) => each !== name) };
}
