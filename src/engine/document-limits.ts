import { type DocumentNode, GraphQLError, parse } from 'graphql';
import { type DocumentSize, measureOperations } from './measure-document.ts';
import { RequestError } from './request-error.ts';

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
