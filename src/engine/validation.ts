import {
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  validate,
} from 'graphql';
import { type ErrorCode, isErrorCode } from '../errors.ts';
import { fragmentsOf, rootFieldsOf } from '../executor/selection.ts';
import { isPayment } from '../schema/field-extensions.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { RequestError, truncate } from './errors.ts';

/** The rules that apply to every document in addition to the schema; the same for every caller, since results are cached. */
export interface DocumentRules {
  /** The default is that of schema.graphql. */
  readonly schema?: GraphQLSchema;
  readonly documentLimits: DocumentLimits;
  /** Whether introspection is allowed; if not, errors do not suggest names of the schema. */
  readonly introspection: boolean;
}

/** Parses a document and checks it against the schema and the rules. Errors: RequestError, the first violation, with others. */
export type CheckDocument = (text: string) => DocumentNode;

/** How many violations are reported: a developer mends a few at a time, and collecting all of them costs time. */
const maxViolations = 5;

/** Creates the check of documents, those of requests and, at startup, those of a manifest. */
export function createDocumentCheck({
  schema = ownSchema,
  documentLimits,
  introspection,
}: DocumentRules): CheckDocument {
  const rules: readonly ValidationRule[] = [
    ...specifiedRules,
    OnePaymentRule,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
  return (text) => {
    const document = attempt('GRAPHQL_PARSE_FAILED', () => parseWithin(text, documentLimits));
    // Before validation, which takes time.
    checkSize(document, documentLimits);
    const options = { hideSuggestions: !introspection, maxErrors: maxViolations };
    // graphql adds an error that says that there are more.
    const violations = validate(schema, document, rules, options).slice(0, maxViolations);
    // The same words about another place say nothing new.
    const [first, ...others] = violations.filter(
      ({ message }, index) => violations.findIndex((each) => each.message === message) === index,
    );
    if (first === undefined) return document;
    const refusal = located('GRAPHQL_VALIDATION_FAILED', first);
    refusal.others = others.map((each) => located('GRAPHQL_VALIDATION_FAILED', each));
    throw refusal;
  };
}

function attempt<T>(code: ErrorCode, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof GraphQLError ? located(code, error) : error;
  }
}

/** The error with a code: its own, or that of the step that found it, marked as an error of the document. */
function located(code: ErrorCode, error: GraphQLError): RequestError {
  const { message, nodes, source, positions, extensions } = error;
  const place = { nodes, source, positions };
  return isErrorCode(extensions.code)
    ? new RequestError(extensions.code, message, place)
    : new RequestError(code, truncate(message), { ...place, http: { status: 400, isOfDocument: true } });
}

/** How large an operation may be; see DocumentSize. `tokens` counts those of the document's text. */
export interface DocumentLimits extends DocumentSize {
  readonly tokens: number;
}

const words: Readonly<Record<keyof DocumentSize, string>> = {
  depth: 'levels of fields',
  fields: 'fields',
  rootFields: 'fields at its root',
  aliases: 'aliases',
  directives: 'directives',
};

/** The maximum length of an alias in characters: the path of each error below it repeats it. */
const maxAliasLength = 128;

/** Parses a document's text. Errors: GraphQLError for a syntax error, or for a text that is too long to be parsed. */
export function parseWithin(text: string, { tokens }: DocumentLimits): DocumentNode {
  try {
    return parse(text, { maxTokens: tokens });
  } catch (error) {
    // graphql tells this syntax error from others only by its message.
    if (error instanceof GraphQLError && error.message.includes('Parsing aborted'))
      throw new RequestError('LIMIT_EXCEEDED', `The document holds more than ${tokens} tokens.`);
    throw error;
  }
}

/** Errors: GraphQLError where an operation of the document is too large. */
export function checkSize(document: DocumentNode, limits: DocumentLimits): void {
  for (const size of measureOperations(document)) {
    if (size.aliasLength > maxAliasLength)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation holds an alias of ${size.aliasLength} characters, and one may have ${maxAliasLength}; use shorter names.`,
      );
    for (const [name, word] of Object.entries(words) as [keyof DocumentSize, string][]) {
      if (size[name] > limits[name])
        throw new RequestError(
          'LIMIT_EXCEEDED',
          `The operation holds ${size[name]} ${word}, and may hold ${limits[name]}; ask for less at a time.`,
        );
    }
  }
}

/**
 * Refuses an operation with two payments, including aliases, fragments, and fields behind @skip or @include (whose
 * variables may change while the document stays the same). With only one payment, no other one's failure can hide
 * its outcome.
 */
export function OnePaymentRule(context: ValidationContext): ASTVisitor {
  const fields = context.getSchema().getMutationType()?.getFields() ?? {};
  return {
    OperationDefinition(operation) {
      if (operation.operation !== 'mutation') return;
      const payments = new Set<string>();
      for (const { name, alias } of rootFieldsOf(operation, fragmentsOf(context.getDocument()))) {
        const field = fields[name.value];
        if (field !== undefined && isPayment(field)) payments.add(alias?.value ?? name.value);
      }
      if (payments.size < 2) return;
      context.reportError(
        new GraphQLError(
          `An operation may hold one payment, and this one holds ${payments.size}: send each on its own, with a key of its own.`,
          { nodes: operation, extensions: { code: 'LIMIT_EXCEEDED' } },
        ),
      );
    },
  };
}

/** The size of an operation with its fragments expanded. */
export interface DocumentSize {
  /** The longest path from the operation to a field, in fields. */
  readonly depth: number;
  readonly fields: number;
  readonly rootFields: number;
  readonly aliases: number;
  readonly directives: number;
}

/** What is measured for an operation. */
export interface MeasuredSize extends DocumentSize {
  /** The characters of its longest alias, which an error's path repeats. */
  readonly aliasLength: number;
}

const nothing: MeasuredSize = {
  depth: 0,
  fields: 0,
  rootFields: 0,
  aliases: 0,
  directives: 0,
  aliasLength: 0,
};

/**
 * The size of each operation of a document. Each fragment is measured once, so that the time is linear in the
 * document's text, however fragments multiply. A fragment inside itself counts as nothing: validation refuses it.
 */
export function measureOperations(document: DocumentNode): MeasuredSize[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition);
    else if (definition.kind === 'OperationDefinition') operations.push(definition);
  }
  const measured = new Map<string, MeasuredSize>();

  function ofFragment(name: string): MeasuredSize {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, nothing);
    const fragment = fragments.get(name);
    const size = fragment === undefined ? nothing : ofSelections(fragment.selectionSet);
    const own = { ...size, directives: size.directives + (fragment?.directives?.length ?? 0) };
    measured.set(name, own);
    return own;
  }

  function ofSelections({ selections }: SelectionSetNode): MeasuredSize {
    let { depth, fields, rootFields, aliases, directives, aliasLength } = nothing;
    for (const node of selections) {
      directives += node.directives?.length ?? 0;
      if (node.kind === 'Field') {
        const below = node.selectionSet === undefined ? nothing : ofSelections(node.selectionSet);
        depth = Math.max(depth, below.depth + 1);
        fields += below.fields + 1;
        rootFields += 1;
        aliases += below.aliases + (node.alias === undefined ? 0 : 1);
        directives += below.directives;
        aliasLength = Math.max(aliasLength, below.aliasLength, node.alias?.value.length ?? 0);
      } else {
        const inside =
          node.kind === 'InlineFragment' ? ofSelections(node.selectionSet) : ofFragment(node.name.value);
        depth = Math.max(depth, inside.depth);
        fields += inside.fields;
        rootFields += inside.rootFields;
        aliases += inside.aliases;
        directives += inside.directives;
        aliasLength = Math.max(aliasLength, inside.aliasLength);
      }
    }
    return { depth, fields, rootFields, aliases, directives, aliasLength };
  }

  return operations.map((operation) => {
    const size = ofSelections(operation.selectionSet);
    return { ...size, directives: size.directives + (operation.directives?.length ?? 0) };
  });
}
