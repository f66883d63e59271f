import {
  type ASTVisitor,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  validate,
} from 'graphql';
import { type ErrorCode, isErrorCode } from '../errors.ts';
import { eachSelection, fragmentsOf } from '../executor/selection.ts';
import { getOrMake } from '../get-or-make.ts';
import { isPayment } from '../schema/plugin/field-extensions.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { type DocumentLimits, parseWithin } from './document-size.ts';
import { RequestError, truncate } from './errors.ts';

/** The rules that apply to every document in addition to the schema; the same for every caller, since results are cached. */
export interface DocumentRules {
  /** The schema of the documents; by default the one that schema.graphql shows. */
  readonly schema?: GraphQLSchema;
  readonly documentLimits: DocumentLimits;
  /** Whether introspection is allowed; if not, errors do not suggest names of the schema. */
  readonly introspection: boolean;
}

/** The number of violations that are reported: a developer corrects a few at a time, and collecting all of them costs time. */
const maxViolations = 5;

type ValidateDocument = (schema: GraphQLSchema, document: DocumentNode) => readonly RequestError[];

/** Creates the validation of parsed documents. It returns the first violations. */
export function createValidation({ introspection }: Pick<DocumentRules, 'introspection'>): ValidateDocument {
  const rules: readonly ValidationRule[] = [
    ...specifiedRules,
    OnePaymentRule,
    SeenPaymentRule,
    ...(introspection ? [] : [NoIntrospectionRule]),
  ];
  const options = { hideSuggestions: !introspection, maxErrors: maxViolations };
  return (schema, document) =>
    // `slice` drops the error with which graphql says that there are more errors.
    toViolations(validate(schema, document, rules, options).slice(0, maxViolations));
}

/** Violations with their codes. A message that repeats an earlier one is left out. */
export const toViolations = (errors: readonly GraphQLError[]): readonly RequestError[] =>
  errors
    .filter(({ message }, index) => errors.findIndex((each) => each.message === message) === index)
    .map((error) => documentError('GRAPHQL_VALIDATION_FAILED', error));

/**
 * Creates the complete check of a document: its syntax, its size and its validity. The manifests' documents pass it at the
 * start.
 * Errors: RequestError, the first violation.
 */
export function createDocumentCheck(rules: DocumentRules): (text: string) => DocumentNode {
  const { schema = ownSchema, documentLimits } = rules;
  const validateDocument = createValidation(rules);
  return (text) => {
    const document = parseDocument(text, documentLimits);
    const [violation] = validateDocument(schema, document);
    if (violation !== undefined) throw violation;
    return document;
  };
}

/** Parses a document, and checks its size, before validation takes time. Errors: RequestError. */
export function parseDocument(text: string, limits: DocumentLimits): DocumentNode {
  try {
    return parseWithin(text, limits);
  } catch (error) {
    throw error instanceof GraphQLError ? documentError('GRAPHQL_PARSE_FAILED', error) : error;
  }
}

/**
 * Converts an error of a document. An error without a code gets the code of the step that found it, and is marked as an error
 * of the document.
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
 * Refuses an operation with two payments, because the failure of one could hide the outcome of the other. Aliases and fragments
 * count, and so do fields with @skip or @include, whose variables may change while the document stays the same.
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

/**
 * When a field is delivered. `first`: always, with the first result. `conditional`: with the first result,
 * unless a condition excludes the field. `later`: perhaps later (@defer).
 */
type Delivery = 'first' | 'conditional' | 'later';

function deliveryOf({ directives = [] }: SelectionNode, outer: Delivery): Delivery {
  let delivery = outer;
  for (const { name, arguments: given = [] } of directives) {
    const isOff = given.some(({ value }) => value.kind === Kind.BOOLEAN && !value.value);
    if (name.value === 'defer' && !isOff) return 'later';
    if (delivery === 'first' && name.value !== 'defer') delivery = 'conditional';
  }
  return delivery;
}

/**
 * For each payment of an operation, by its response name: when the fields that show its failure (`userErrors`, `payment { state
 * }`) are delivered.
 */
export function paymentDeliveries(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
): ReadonlyMap<string, ReadonlySet<Delivery>> {
  const fields = schema.getMutationType()?.getFields() ?? {};
  const shown = new Map<string, Set<Delivery>>();
  const eachField = eachDeliveredField(fragments);
  eachField(operation, 'first', (payment, outer) => {
    const field = fields[payment.name.value];
    if (field === undefined || !isPayment(field)) return;
    const deliveries = getOrMake(shown, payment.alias?.value ?? payment.name.value, () => new Set());
    eachField(payment, outer, (node, delivery) => {
      if (node.name.value === 'userErrors') deliveries.add(delivery);
      if (node.name.value !== 'payment') return;
      eachField(node, delivery, (member, own) => {
        if (member.name.value === 'state') deliveries.add(own);
      });
    });
  });
  return shown;
}

/** Visits the fields of an object. The fields of a named fragment are visited once for each Delivery of the fragment. */
function eachDeliveredField(fragments: Readonly<Record<string, FragmentDefinitionNode>>) {
  return function eachField(
    { selectionSet }: Pick<FieldNode, 'selectionSet'>,
    outer: Delivery,
    visit: (node: FieldNode, delivery: Delivery) => void,
    entered = new Set<string>(),
  ): void {
    for (const node of selectionSet?.selections ?? []) {
      const delivery = deliveryOf(node, outer);
      if (node.kind === Kind.FIELD) visit(node, delivery);
      else if (node.kind === Kind.INLINE_FRAGMENT) eachField(node, delivery, visit, entered);
      else if (!entered.has(`${delivery} ${node.name.value}`)) {
        entered.add(`${delivery} ${node.name.value}`);
        eachField(fragments[node.name.value] ?? {}, delivery, visit, entered);
      }
    }
  };
}

/**
 * Refuses a payment whose document defers every field that shows its failure: its first result would look like a success.
 * A payment whose document selects no such field fails as an error of its field (payment-mutations.ts).
 */
function SeenPaymentRule(context: ValidationContext): ASTVisitor {
  const fragments = fragmentsOf(context.getDocument());
  return {
    OperationDefinition(operation) {
      if (operation.operation !== 'mutation') return;
      for (const [name, deliveries] of paymentDeliveries(context.getSchema(), operation, fragments))
        if (deliveries.has('later') && !deliveries.has('first'))
          context.reportError(
            new GraphQLError(
              `The first result of "${name}" would hide that its payment failed: select userErrors, or payment { state }, without @defer and without a condition.`,
              { nodes: operation },
            ),
          );
    },
  };
}
