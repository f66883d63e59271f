import { type ASTVisitor, GraphQLError, type SelectionSetNode, type ValidationContext } from 'graphql';
import { isPayment } from '../schema/payment.ts';

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
      const seen = new Set<string>();
      const collect = ({ selections }: SelectionSetNode) => {
        for (const node of selections) {
          if (node.kind === 'Field') {
            const field = fields[node.name.value];
            if (field !== undefined && isPayment(field)) payments.add(node.alias?.value ?? node.name.value);
          } else if (node.kind === 'InlineFragment') {
            collect(node.selectionSet);
          } else if (!seen.has(node.name.value)) {
            seen.add(node.name.value);
            const fragment = context.getFragment(node.name.value);
            if (fragment) collect(fragment.selectionSet);
          }
        }
      };
      collect(operation.selectionSet);
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
