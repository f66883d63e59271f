import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  validate,
} from 'graphql';
import { type ErrorCode, isErrorCode } from '../errors.ts';
import { eachSelection, fragmentsOf } from '../executor/selection.ts';
import { isPayment } from '../schema/plugin/field-extensions.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { RequestError, truncate } from './errors.ts';
import { type DocumentLimits, parseWithin } from './limits.ts';

/** The rules that apply to every document in addition to the schema; the same for every caller, since results are cached. */
export interface DocumentRules {
  /** The default is that of schema.graphql. */
  readonly schema?: GraphQLSchema;
  readonly documentLimits: DocumentLimits;
  /** Whether introspection is allowed; if not, errors do not suggest names of the schema. */
  readonly introspection: boolean;
}

/** Parses a document and checks it against the schema and the rules. Errors: RequestError, the first violation, with others. */
type CheckDocument = (text: string) => DocumentNode;

/** How many violations are reported: a developer mends a few at a time, and collecting all of them costs time. */
const maxViolations = 5;

/** Creates the check of documents, for requests and, at the start, for the manifest. */
export function createDocumentCheck({
  schema = ownSchema,
  documentLimits,
  introspection,
}: DocumentRules): CheckDocument {
  const rules: readonly ValidationRule[] = [
    ...specifiedRules,
    OnePaymentRule,
    ...(introspection ? [] : [NoIntrospectionRule]),
  ];
  return (text) => {
    // Sizes too are checked before validation, which takes time.
    const document = parseDocument(text, documentLimits);
    const options = { hideSuggestions: !introspection, maxErrors: maxViolations };
    // graphql adds an error that says that there are more.
    const violations = validate(schema, document, rules, options).slice(0, maxViolations);
    // A repeated message about another place adds nothing.
    const [first, ...others] = violations.filter(
      ({ message }, index) => violations.findIndex((each) => each.message === message) === index,
    );
    if (first === undefined) return document;
    const refusal = documentError('GRAPHQL_VALIDATION_FAILED', first);
    refusal.others = others.map((each) => documentError('GRAPHQL_VALIDATION_FAILED', each));
    throw refusal;
  };
}

/** Errors: RequestError. */
function parseDocument(text: string, limits: DocumentLimits): DocumentNode {
  try {
    return parseWithin(text, limits);
  } catch (error) {
    throw error instanceof GraphQLError ? documentError('GRAPHQL_PARSE_FAILED', error) : error;
  }
}

/**
 * Keeps the error's own code. Otherwise, adds the code of the step that found the error, and marks it as an error of the
 * document.
 */
function documentError(code: ErrorCode, error: GraphQLError): RequestError {
  const { message, nodes, source, positions, extensions } = error;
  const place = { nodes, source, positions };
  return isErrorCode(extensions.code)
    ? new RequestError(extensions.code, message, place)
    : new RequestError(code, truncate(message), { ...place, http: { status: 400, isOfDocument: true } });
}

/** Refuses introspection, as graphql's NoSchemaIntrospectionCustomRule does, but says how it is switched on. */
function NoIntrospectionRule(context: ValidationContext): ASTVisitor {
  const message = 'Introspection is switched off here; the operator switches it on with EXPLORE=on.';
  return {
    Field(node) {
      const type = getNamedType(context.getType());
      if (type && isIntrospectionType(type)) context.reportError(new GraphQLError(message, { nodes: node }));
    },
  };
}

/**
 * Refuses an operation with two payments, including aliases, fragments, and fields behind @skip or @include (whose
 * variables may change while the document stays the same). With only one payment, the failure of another payment cannot
 * hide its outcome.
 */
function OnePaymentRule(context: ValidationContext): ASTVisitor {
  const fields = context.getSchema().getMutationType()?.getFields() ?? {};
  return {
    OperationDefinition(operation) {
      if (operation.operation !== 'mutation') return;
      const payments = new Set<string>();
      eachSelection([operation], fragmentsOf(context.getDocument()), (node) => {
        const field = node.kind === 'Field' ? fields[node.name.value] : undefined;
        if (node.kind === 'Field' && field !== undefined && isPayment(field))
          payments.add(node.alias?.value ?? node.name.value);
        return true;
      });
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
