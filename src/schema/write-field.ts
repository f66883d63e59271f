import type { CallInput } from '../bank/request.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import type { Context, Defaults } from './context.ts';
import { type EstimateContext, fieldExtensions, type KnownObject } from './field-extensions.ts';

interface WriteCall<T extends Operation> {
  readonly ids: CallInput<T>['ids'];
  readonly body: Body<T>;
}

/**
 * A mutation field that is one write. Spread it into a Pothos field: it brings `resolve`, and the facts that plans
 * look at.
 * `callOf` makes the call of the arguments; its errors are the field's. `payloadOf` makes the payload of the call and
 * of the bank's answer, which is undefined while it is not known.
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
    return { ...payloadOf(call, answer), trackId };
  };
  const estimate = (_root: object, args: Args, context: EstimateContext): KnownObject => {
    const call = callOf(args, context.defaults);
    context.send(operation, call);
    return { parent: payloadOf(call, undefined) };
  };
  return { resolve, extensions: fieldExtensions({ estimate }) };
}
