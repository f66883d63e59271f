import type { CallInput } from '../bank/request.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import type { Selection } from '../executor/selection.ts';
import type { Context, Defaults } from './context.ts';
import { type EstimateContext, fieldExtensions, type KnownObject, knownObject } from './field-extensions.ts';
import type { NodeRef, NodeType } from './node-type.ts';

interface WriteCall<T extends Operation> {
  readonly ids: CallInput<T>['ids'];
  readonly body: Body<T>;
}

/**
 * A mutation field that is one write. Spread it into a Pothos field: it brings `resolve`, and the facts that plans
 * look at.
 * `callOf` makes the call of the arguments; its errors are the field's. `payloadOf` makes the payload of the call and
 * of the bank's answer, which is undefined while it is not known, and where the bank answered with no more than a status.
 */
export function writeField<
  T extends Operation & { readonly kind: 'write' },
  Args,
  Call extends WriteCall<T>,
  Payload extends object,
>(
  operation: T,
  callOf: (args: Args, defaults: Defaults) => Call,
  payloadOf: (call: Call, answer: Answer<T> | undefined) => Payload,
) {
  const resolve = async (_root: object, args: Args, { session, defaults }: Context) => {
    const call = callOf(args, defaults);
    const { answer, trackId } = await session.write(operation, call.ids, call.body);
    return { ...payloadOf(call, answer ?? undefined), trackId };
  };
  const estimate = (_root: object, args: Args, context: EstimateContext): KnownObject => {
    const call = callOf(args, context.defaults);
    context.send(operation, call);
    return { parent: payloadOf(call, undefined) };
  };
  return { resolve, extensions: fieldExtensions({ estimate }) };
}

/**
 * A payload's field that leads to the record that was written: as the bank answered it, else read anew where a selected field
 * needs it, and null where it has no id to be read by. Spread it into a Pothos field.
 *
 * Whether it is read, only the bank's answer tells: plans count no call for it, and it is counted while the operation runs.
 */
export function writtenNode<Payload, Ids extends object, Item>(
  nodeType: () => NodeType<Ids, Item>,
  nodeOf: (payload: Payload) => NodeRef<Ids, Item>,
  canRead: (ids: Ids) => boolean = () => true,
) {
  const resolve = (payload: Payload, _args: object, context: Context, info: Selection) => {
    const node = nodeOf(payload);
    if (node.record !== undefined) return node;
    return canRead(node) ? nodeType().load(node, context, info) : null;
  };
  return { resolve, extensions: knownObject(nodeOf) };
}
