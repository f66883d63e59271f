import {
  type DocumentNode,
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { type ErrorCode, isErrorCode } from '../errors.ts';
import { schema } from '../schema/schema.ts';
import { checkSize, type DocumentLimits, parseWithin } from './document-limits.ts';
import { truncate } from './mask-error.ts';
import { OnePaymentRule } from './one-payment-rule.ts';
import { RequestError } from './request-error.ts';

/** What every document is held against beside the schema; the same for every caller, since what was checked is kept. */
export interface DocumentRules {
  readonly documentLimits: DocumentLimits;
  /** Whether the schema may be asked for; where it may not, errors suggest no names of it. */
  readonly introspection: boolean;
}

/** Parses a document and holds it against the schema and the rules. Errors: GraphQLError, the first of what is wrong. */
export type CheckDocument = (text: string) => DocumentNode;

/** Checks the documents of requests, and at the start those of a manifest. */
export function createDocumentCheck({ documentLimits, introspection }: DocumentRules): CheckDocument {
  const rules: readonly ValidationRule[] = [
    ...specifiedRules,
    OnePaymentRule,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
  return (text) => {
    const document = attempt('GRAPHQL_PARSE_FAILED', () => parseWithin(text, documentLimits));
    // Before it is validated, which takes time.
    checkSize(document, documentLimits);
    // One error says enough, and a list of them costs time.
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

/** The error with a code: its own, or the one of the step that found it, which says that the document is wrong. */
function located(code: ErrorCode, error: GraphQLError): GraphQLError {
  const { message, nodes, source, positions, extensions } = error;
  const place = { nodes, source, positions };
  return isErrorCode(extensions.code)
    ? new RequestError(extensions.code, message, place)
    : new RequestError(code, truncate(message), { ...place, http: { status: 400, isOfDocument: true } });
}
