import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { type ErrorCode, isErrorCode } from '../errors.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { checkSize, type DocumentLimits, parseWithin } from './document-limits.ts';
import { truncate } from './mask-error.ts';
import { OnePaymentRule } from './one-payment-rule.ts';
import { RequestError } from './request-error.ts';

/** What every document is checked against besides the schema; the same for every caller, since results are cached. */
export interface DocumentRules {
  /** The schema of schema.graphql where left out. */
  readonly schema?: GraphQLSchema;
  readonly documentLimits: DocumentLimits;
  /** Whether introspection is allowed; if not, errors do not suggest names of the schema. */
  readonly introspection: boolean;
}

/** Parses a document and checks it against the schema and the rules. Errors: GraphQLError, the first violation. */
export type CheckDocument = (text: string) => DocumentNode;

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
    // One error says enough; collecting all of them costs time.
    const options = { hideSuggestions: !introspection, maxErrors: 1 };
    const [wrong] = validate(schema, document, rules, options);
    if (wrong !== undefined) throw located('GRAPHQL_VALIDATION_FAILED', wrong);
    return document;
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
function located(code: ErrorCode, error: GraphQLError): GraphQLError {
  const { message, nodes, source, positions, extensions } = error;
  const place = { nodes, source, positions };
  return isErrorCode(extensions.code)
    ? new RequestError(extensions.code, message, place)
    : new RequestError(code, truncate(message), { ...place, http: { status: 400, isOfDocument: true } });
}
