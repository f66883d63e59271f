import type { ObjectRef } from '@pothos/core';
import { isObjectType } from 'graphql';
import type { z } from 'zod';
import type { Answer, Operation, PathIds } from '../contract/operation.ts';
import { type Changes, updatedBody } from '../contract/updated-body.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type Selection, selectedFields, withDeferred } from '../executor/selection.ts';
import { builder } from './builder.ts';
import type { Context, Defaults } from './context.ts';
import {
  type EstimateContext,
  fieldExtensions,
  type KnownObject,
  startPrefetch,
} from './field-extensions.ts';
import type { NodeRef, NodeType } from './node.ts';
import { requireWhole } from './record-version.ts';

/**
 * Updates read a record, change it and write it back whole, so that members which an update does not name keep
 * their values.
 *
 * The read bypasses all caches. If the bank broke the contract anywhere in the record, nothing is written, since a
 * body made from it would lose that value. Updates of one record run one after the other.
 */

type WriteOperation = Operation & { readonly kind: 'write'; readonly body: z.ZodObject };

/** How the records of a node type are updated. */
interface UpdateOptions<T extends WriteOperation, Ids extends object, Item extends object> {
  readonly operation: T;
  /** The type name of its payload. */
  readonly payload: string;
  readonly nodeType: () => NodeType<Ids, Item>;
  /** The version of a record, as in the type's field `version`. */
  readonly versionOf: (record: Item) => string;
}

/** One update, as its arguments define it. */
interface UpdateCall<T extends WriteOperation, Ids, Item> {
  readonly node: Ids;
  /** The ids in the write's path. */
  readonly ids: PathIds<T>;
  /** Identifies the record, through whichever view it is read: updates with the same parts wait for each other. */
  readonly record: readonly string[];
  readonly ifVersion: string | null | undefined;
  /** The body's changes, which may depend on what was read. Errors: BAD_USER_INPUT. */
  readonly changes: (record: Item) => Changes<z.infer<T['body']>>;
}

/** The part of an update's arguments that all updates share. */
interface UpdateArguments {
  readonly input: { readonly changes: object };
}

/** The outcome of an update: the bank's answer, or the record whose version differs. */
export interface UpdateResult<Node> {
  readonly written: { readonly node: Node; readonly trackId: string } | null;
  readonly conflict: { readonly node: Node; readonly error: BankqlError } | null;
}

/**
 * A mutation field that is an update: one read and one write. Spread it into a Pothos field: it provides `resolve`,
 * and the extensions that plans use. `toCall` checks the arguments; its errors are the field's.
 */
export function updateField<
  T extends WriteOperation,
  Args extends UpdateArguments,
  Ids extends object,
  Item extends object,
>(
  { operation, payload, nodeType, versionOf }: UpdateOptions<T, Ids, Item>,
  toCall: (args: Args, defaults: Defaults) => UpdateCall<T, Ids, Item>,
) {
  type Node = NodeRef<Ids, Item>;

  const callOf = (args: Args, defaults: Defaults) => {
    if (Object.keys(args.input.changes).length === 0)
      throw badUserInput('`changes` names nothing to change; nothing was written.', 'changes');
    return toCall(args, defaults);
  };

  const bodyOf = (record: Item, changes: Changes<z.infer<T['body']>>) => {
    const { body, missing } = updatedBody(operation.body, record, changes);
    const [first] = missing;
    if (first === undefined) return body;
    throw badUserInput(
      `The bank's ${operation.id} requires \`${first}\`, which neither \`changes\` nor the record has; nothing was written.`,
    );
  };

  const resolve = async (
    _root: object,
    args: Args,
    { session, defaults, credentials, lists }: Context,
    info: Selection,
  ): Promise<UpdateResult<Node>> => {
    const { node, ids, record: name, ifVersion, changes } = callOf(args, defaults);
    const key = JSON.stringify([operation.id, ...name]);
    let conflict: UpdateResult<Node>['conflict'] = null;
    const written = await session.update(key, operation, ids, async (fresh) => {
      const record = await nodeType().read(node, { session: fresh, defaults, credentials, lists });
      const version = versionOfWhole(record);
      if (typeof ifVersion === 'string' && ifVersion !== version) {
        conflict = { node: { ...node, record }, error: conflictError(operation, version) };
        return null;
      }
      // The body has the operation's shape, but TypeScript cannot infer that through a type parameter.
      return bodyOf(record, changes(record)) as never;
    });
    if (written === null) {
      checkConflictShown(conflict, payload, info);
      return { written, conflict };
    }
    const { answer, trackId } = written as { answer: (Answer<T> & Item) | null; trackId: string };
    return { written: { node: { ...node, record: answer ?? undefined }, trackId }, conflict };
  };

  const versionOfWhole = (record: Item): string => {
    // An answer whose members are all optional may not be a record at all, but an error with status 200, for
    // example.
    if (!Object.keys(operation.body.shape).some((name) => Reflect.get(record, name) != null))
      throw new BankqlError(
        'BANK_BAD_RESPONSE',
        `What the bank answered before ${operation.id} holds nothing of a record. Nothing was written.`,
        { operation: operation.id },
      );
    try {
      requireWhole(record);
    } catch (error) {
      if (!(error instanceof BankqlError)) throw error;
      throw new BankqlError(error.code, `${error.message} Nothing was written.`, error.extensions, {
        cause: error,
      });
    }
    return versionOf(record);
  };

  const estimate = (_root: object, args: Args, context: EstimateContext): KnownObject => {
    const { node, ids } = callOf(args, context.defaults);
    context.invalidate();
    startPrefetch(() => nodeType().read(node, context));
    // Two updates of one record are two writes, even with equal bodies.
    context.send(operation, { ids, body: undefined });
    return { parent: { written: { node, trackId: '' }, conflict: null } };
  };

  return { resolve, extensions: fieldExtensions({ estimate }) };
}

/**
 * Errors: CONFLICT if the operation does not select `conflict`: the client would take the payload for a success.
 */
function checkConflictShown(
  conflict: UpdateResult<object>['conflict'],
  payload: string,
  info: Selection,
): void {
  if (conflict === null) return;
  const type = info.schema.getType(payload);
  if (!isObjectType(type)) throw new Error(`${payload} is no object type of the schema`);
  // Deferred fields count too.
  const selected = selectedFields(withDeferred(info), type);
  if (!selected.some(({ field }) => field.name === 'conflict')) throw conflict.error;
}

/** The fields that inputs of updates share. */
export const updateDescriptions = {
  bankId: 'The bank; the configured one where left out.',
  viewId:
    'The view through which the record is read; the configured default view where left out. It has to show the whole record: what it hides is lost.',
  ifVersion: 'Writes only where the record is still of this `version`; whatever its version where left out.',
  changes: 'What to change: a field that is left out keeps its value, null clears it.',
} as const;

const conflictError = ({ id }: Operation, version: string) =>
  new BankqlError(
    'CONFLICT',
    'The record was changed since the version that `ifVersion` names: nothing was written. Look at `conflict`, and update again with its version.',
    { operation: id, version },
  );

/** The payload type of an update. `field` is its name for the record. */
export function updatePayload<Ids extends object, Item>(
  name: string,
  {
    field,
    nodeType,
    type,
  }: {
    readonly field: string;
    readonly nodeType: () => NodeType<Ids, Item>;
    readonly type: ObjectRef<(typeof builder)['$inferSchemaTypes'], NodeRef<Ids, Item>>;
  },
) {
  type Result = UpdateResult<NodeRef<Ids, Item>>;
  return builder.objectRef<Result>(name).implement({
    description:
      'The outcome of an update. If the record has another version than `ifVersion`, nothing was written.',
    fields: (t) => ({
      [field]: t.field({
        type,
        nullable: true,
        description: `The ${field} as the bank answered the write; null if nothing was written, because of a conflict.`,
        extensions: fieldExtensions({
          estimate: ({ written }: Result): KnownObject | null =>
            written === null ? null : { parent: written.node },
        }),
        // Pothos' type of a resolver's result cannot be inferred through a type parameter.
        resolve: (result: Result, _args: object, context: Context, info: Selection) => {
          const node = result.written?.node;
          if (node === undefined) return null as never;
          return (node.record === undefined ? nodeType().load(node, context, info) : node) as never;
        },
      }),
      conflict: t.field({
        type,
        nullable: true,
        description: `The ${field} as the bank has it if its version is not \`ifVersion\` and nothing was written; null if it was written. If this is not selected, a conflict is an error of the mutation's field.`,
        resolve: ({ conflict }: Result) => conflict?.node as never,
      }),
      trackId: t.id({
        nullable: true,
        description: "The write's Track-ID; null if nothing was written.",
        resolve: ({ written }: Result) => written?.trackId,
      }),
    }),
  });
}
