import {
  type DocumentNode,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  parse,
  validate,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type Size, sizesOf } from './document-size.ts';
import { bounded } from './mask-error.ts';

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

/**
 * Refuses documents that are too large, before they are validated, and before anything is called. The same for every
 * caller, since yoga keeps what it validated. Where the schema may not be asked for, errors suggest no names of it.
 */
export function useDocumentLimits(
  limits: DocumentLimits,
  { hideSuggestions }: { hideSuggestions: boolean },
): Plugin {
  return {
    onParse: ({ setParseFn }) => {
      setParseFn((source, options) => {
        try {
          return parse(source, { ...options, maxTokens: limits.tokens });
        } catch (error) {
          // graphql tells this syntax error from others by its words alone.
          if (error instanceof GraphQLError && error.message.includes('Parsing aborted'))
            throw refusal(`The document holds more than ${limits.tokens} tokens.`);
          throw error;
        }
      });
    },
    onValidate: ({ params, setValidationFn, setResult }) => {
      const tooLarge = excess(params.documentAST, limits);
      if (tooLarge !== null) return setResult([tooLarge]);
      setValidationFn((schema, document, rules, options) =>
        // One error says enough, and a list of them costs time.
        validate(schema, document, rules, { ...options, hideSuggestions, maxErrors: 1 })
          .slice(0, 1)
          .map(
            ({ message, nodes, source, positions, extensions }) =>
              new GraphQLError(bounded(message), { nodes, source, positions, extensions }),
          ),
      );
    },
    onExecute: ({ args, setResultAndStopExecution }) => {
      Object.assign(args, { hideSuggestions });
      // The executor lists up to 50 errors, each of which repeats the whole value.
      const { variableDefinitions = [] } = getOperationAST(args.document, args.operationName) ?? {};
      const { errors: [wrong] = [] } = getVariableValues(
        args.schema,
        variableDefinitions,
        args.variableValues ?? {},
        {
          maxErrors: 1,
          hideSuggestions,
        },
      );
      if (wrong === undefined) return;
      const extensions = { code: 'BAD_USER_INPUT', retryable: false, http: { status: 400, spec: false } };
      const { nodes } = wrong;
      setResultAndStopExecution({
        errors: [new GraphQLError(bounded(wrong.message), { nodes, extensions })],
      });
    },
  };
}

function excess(document: DocumentNode, limits: DocumentLimits): GraphQLError | null {
  for (const size of sizesOf(document)) {
    for (const [name, word] of Object.entries(words) as [keyof Size, string][]) {
      if (size[name] > limits[name])
        return refusal(
          `The operation holds ${size[name]} ${word}, and may hold ${limits[name]}; ask for less at a time.`,
        );
    }
  }
  return null;
}

const refusal = (message: string) =>
  new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED', http: { status: 400, spec: false } } });
