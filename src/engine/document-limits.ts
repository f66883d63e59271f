import { type DocumentNode, GraphQLError, parse } from 'graphql';
import { type Size, sizesOf } from './document-size.ts';
import { Refusal } from './refusal.ts';

/** How large an operation may be; see Size. `tokens` is of the document's text. */
export interface DocumentLimits extends Size {
  readonly tokens: number;
}

const words: Readonly<Record<keyof Size, string>> = {
  depth: 'levels of fields',
  fields: 'fields',
  rootFields: 'fields at its root',
  aliases: 'aliases',
  directives: 'directives',
};

/** The characters of an alias: each error below it repeats it in its path. */
const maxAliasLength = 128;

/** A document's text, parsed. Errors: GraphQLError for a text that is none, or that is too long to be parsed. */
export function parseWithin(text: string, { tokens }: DocumentLimits): DocumentNode {
  try {
    return parse(text, { maxTokens: tokens });
  } catch (error) {
    // graphql tells this syntax error from others by its words alone.
    if (error instanceof GraphQLError && error.message.includes('Parsing aborted'))
      throw new Refusal('LIMIT_EXCEEDED', `The document holds more than ${tokens} tokens.`);
    throw error;
  }
}

/** Errors: GraphQLError where an operation of the document is too large. */
export function checkSize(document: DocumentNode, limits: DocumentLimits): void {
  for (const size of sizesOf(document)) {
    if (size.aliasLength > maxAliasLength)
      throw new Refusal(
        'LIMIT_EXCEEDED',
        `The operation holds an alias of ${size.aliasLength} characters, and one may have ${maxAliasLength}; use shorter names.`,
      );
    for (const [name, word] of Object.entries(words) as [keyof Size, string][]) {
      if (size[name] > limits[name])
        throw new Refusal(
          'LIMIT_EXCEEDED',
          `The operation holds ${size[name]} ${word}, and may hold ${limits[name]}; ask for less at a time.`,
        );
    }
  }
}
