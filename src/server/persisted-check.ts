import { type DocumentNode, GraphQLError } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { schema } from '../schema/schema.ts';
import { type DocumentRules, documentRules } from './document-rules.ts';

/** Parses a document and holds it against the schema and the rules. Errors: GraphQLError, the first of what is wrong. */
export type CheckDocument = (text: string) => DocumentNode;

/** Checks documents by the same engine and the same rules as requests are checked by. */
export function createDocumentCheck(rules: DocumentRules): CheckDocument {
  const { getEnveloped } = createYoga({
    schema,
    plugins: documentRules(rules),
    logging: false,
    maskedErrors: false,
    parserAndValidationCache: false,
  });
  return (text) => {
    const engine = getEnveloped({});
    const document: DocumentNode = engine.parse(text);
    const [wrong]: readonly unknown[] = engine.validate(engine.schema, document);
    if (wrong === undefined) return document;
    throw wrong instanceof GraphQLError ? wrong : new GraphQLError(String(wrong));
  };
}
