import type { CallInput } from '../bank/request.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import type { Selection } from '../executor/selection.ts';
import type { Context, Defaults } from './context.ts';
import { type EstimateContext, fieldExtensions, type KnownObject, knownObject } from './field-extensions.ts';
import type { NodeRef, NodeType } from './node.ts';

interface WriteCall<T extends Operation> {
  readonly ids: CallInput<T>['ids'];
  readonly body: Body<T>;
}

/**
 * A mutation field that is one write. Spread it into a Pothos field: it provides `resolve`, and the extensions that
 * plans use.
 * `callOf` derives the call from the arguments; its errors are the field's. `payloadOf` derives the payload from
 * the call and the bank's answer, which is undefined while it is not known, and if the bank sent only a status.
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
 * A payload's field that leads to the written record: as the bank's answer shows it, or read anew if a selected
 * field needs that, or null without an id to read it by. Spread it into a Pothos field.
 *
 * Only the bank's answer tells whether it has to be read: plans do not count that call; it counts at run time.
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
