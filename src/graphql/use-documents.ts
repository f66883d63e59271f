import { specifiedRules, type ValidationRule, validate } from 'graphql';
import { createDocumentCache, type DocumentCacheOptions } from './documents.ts';
import { RequestError } from './errors.ts';
import { type OperationParams, type Persisted, parseParams } from './params.ts';
import { type BankqlPlugin, found, type PluginContext } from './plugin-context.ts';
import type { MaskError } from './use-masked-errors.ts';

export interface DocumentsOptions extends Omit<DocumentCacheOptions, 'pinned'> {
  /** Null (the default): requests send their documents. */
  readonly persisted?: Persisted | null | undefined;
}

/**
 * The document of a request: its text, or the one of the manifest that it names by an id. Each text is prepared once; refusals are kept too.
 * Errors: RequestError.
 */
export function useDocuments(
  { persisted = null, ...options }: DocumentsOptions,
  mask: MaskError,
): BankqlPlugin {
  const operationsOf = createDocumentCache({ ...options, pinned: persisted?.documents.parsed });

  function find(context: PluginContext, { query, operationName }: OperationParams) {
    const { asking } = context;
    const operation = operationsOf(query).find(operationName);
    context.operation = operation;
    if (asking.activity) asking.activity.operation = operation;
    if (asking.isReadOnly === true && operation.kind !== 'query')
      throw new RequestError('BAD_USER_INPUT', 'Send what changes something by POST.', {
        http: { status: 405, headers: { Allow: 'POST' } },
      });
    return operation.document;
  }

  return {
    onParams({ params, context, setParams, setResult }) {
      try {
        const askedFor = parseParams(params, persisted);
        context.askedFor = askedFor;
        const { query, operationName, variables } = askedFor;
        setParams({ query, variables, ...(operationName !== null && { operationName }) });
      } catch (error) {
        // Yoga would check the parameters again, with other messages.
        setParams({ query: '' });
        setResult({ errors: mask.all(error) });
      }
    },
    onParse({ context, setParseFn }) {
      setParseFn(() => {
        try {
          return find(context, found(context.askedFor));
        } catch (error) {
          // Yoga includes each of them in the answer.
          throw error instanceof RequestError && error.others.length > 0
            ? new AggregateError([error, ...error.others])
            : error;
        }
      });
    },
    onValidate({ setValidationFn }) {
      // The cache has applied bankql's rules. Other plugins may have added some.
      setValidationFn((schema, document, rules = []) => {
        const others: ValidationRule[] = [];
        for (const rule of rules as readonly ValidationRule[]) if (!specified.has(rule)) others.push(rule);
        return others.length === 0 ? valid : validate(schema, document, others);
      });
    },
  };
}

const specified: ReadonlySet<ValidationRule> = new Set(specifiedRules);
const valid: readonly [] = Object.freeze([]);
