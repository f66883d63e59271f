import type { InputFieldMap, InputObjectRef, InputShapeFromFields } from '@pothos/core';
import type { z } from 'zod';
import { hash } from '../bank/credentials.ts';
import { isOtherId } from '../bank/ids.ts';
import type { CallInput } from '../bank/request.ts';
import { brokenValueIn, unwrap } from '../bank/response.ts';
import type { Answer, Body, Operation, OwnIds } from '../contract/operation.ts';
import { metaOf, type Body as RecordBody, recordFields } from '../contract/record.ts';
import { type Changes, changesNothing, leavesOut, updatedBody } from '../contract/updated-body.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type Selection, selects } from '../executor/selection.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder, type InputFields, type Types } from './builder.ts';
import { bankIdOr, type Context, type Defaults, type ReadContext, viewIdOr } from './context.ts';
import { fieldExtensions } from './field-extensions.ts';
import { changesType, clearedBy, inputType, ownIdIn, toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import { shownId } from './list-item.ts';
import { type NodeRef, type NodeType, recordOf } from './node.ts';

/**
 * The mutations that write a record: puts, which send a whole one, and updates, which read it, change it and write it
 * back whole, so that members which an update does not name keep their values.
 *
 * The read of an update bypasses all caches. If the bank broke the contract anywhere in the record, nothing is written,
 * since a body made from it would lose that value. Nor is anything written if the record has another id than the requested one. Updates of
 * one record run one after the other.
 */

type WriteOperation = Operation & { readonly kind: 'write'; readonly body: z.ZodObject };

/** A kind of record that mutations write. */
interface WrittenRecordOptions<T, Put, Ids extends object, Item> {
  readonly resource: T;
  readonly operation: Put;
  readonly nodeType: NodeType<Ids, Item>;
  /** The operations that read it. */
  readonly reads: string;
  /** The version of a record as it was read, as in the type's field `version`; by default that of its shape. */
  readonly versionOf?: (record: Item) => string;
}

const withArticle = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** Which record: its bank's id, and the ids that its mutation's input has besides. */
type Where<Name extends string> = BankIds & { readonly [N in Name]: string };

/** What puts and updates have in common. */
interface MutationOptions<Name extends string, More, Input> {
  readonly name: string;
  /** What it does, as the beginning of its description, if it does not do just what its name says. */
  readonly description?: string;
  /** The input's ids and their descriptions, in the order of their checks. All but `viewId` are required. */
  readonly ids: { readonly [N in Name]: string };
  /** Further fields of the input. */
  readonly more?: (t: InputFields) => More;
  /** The ids in the write's path that are not among `ids`. Errors: BAD_USER_INPUT. */
  readonly morePath?: (input: Input) => object;
}

type Shape<More> = More extends InputFieldMap ? InputShapeFromFields<More> : object;

/** The name of a type that belongs to a mutation: `PutBranchInput` of `putBranch`. */
const typeName = (mutation: string, suffix: string) =>
  `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}${suffix}`;

/** The fields of an input that say which record. */
const whereFields = (
  t: InputFields,
  { ids, more }: Pick<MutationOptions<string, unknown, never>, 'ids' | 'more'>,
): InputFieldMap => ({
  bankId: t.id({ description: 'The code of the bank; the configured one if it is left out.' }),
  ...Object.fromEntries(
    Object.entries(ids).map(([id, description]) => [id, t.id({ required: id !== 'viewId', description })]),
  ),
  ...(more?.(t) as InputFieldMap | undefined),
});

/** Errors: BAD_USER_INPUT. */
function whereIn<Name extends string>(
  ids: Record<Name, string>,
  input: object,
  defaults: Defaults,
): Where<Name> {
  const where: Record<string, string> = { bankId: bankIdOr(defaults, Reflect.get(input, 'bankId')) };
  for (const id of Object.keys(ids)) {
    const given = Reflect.get(input, id);
    where[id] = id === 'viewId' ? viewIdOr(defaults, given) : restId(id, given);
  }
  return where as Where<Name>;
}

/**
 * A mutation field that is one write. Spread it into a Pothos field: it provides `resolve`.
 * `callOf` derives the call from the arguments; its errors are the field's. `payloadOf` derives the payload from
 * the call and the bank's answer, which is undefined while it is not known, and if the bank sent only a status.
 */
export function writeField<
  T extends Operation & { readonly kind: 'write' },
  Args,
  Call extends Required<Pick<CallInput<T>, 'ids' | 'body'>>,
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
  return { resolve };
}

/** The payload of a put. */
export interface PutResult<Node> {
  readonly node: Node;
  readonly trackId: string;
}

interface PutOptions<Name extends string, More, Put extends WriteOperation, Ids, Item>
  extends MutationOptions<Name, More, Shape<More>> {
  /** The mutation that changes a part, if its name does not begin with `update`. */
  readonly update?: string;
  /** Descriptions of the input, of the record in it, and of the payload, if they differ from those of other records. */
  readonly texts?: { readonly input?: string; readonly body?: string; readonly payload?: string };
  /** The body's values for members that the input leaves out. */
  readonly defaults?: (where: Where<NoInfer<Name>>) => object;
  /** The ids of the written record; `record` is the bank's answer, if there is one. */
  readonly node: (where: Where<NoInfer<Name>>, body: Body<Put>, record: Item | undefined) => Ids;
  /** Whether the record can be read if the bank answers without it; it can by default. */
  readonly canRead?: (ids: Ids) => boolean;
  /** The payload's field for the record, if it is not `writtenNode`. */
  readonly written?: () => object;
}

/** A kind of record: the field with its version, and what defines the mutations that write it. */
export function writtenRecord<
  T extends z.ZodObject,
  Put extends WriteOperation,
  Ids extends object,
  Item extends object,
>(record: WrittenRecordOptions<T, Put, Ids, Item>) {
  const { resource, operation, nodeType, reads, versionOf = versionIn(resource) } = record;
  // As mutations and their descriptions name a record, such as `branch`.
  const { name: recordName = '' } = metaOf(resource);
  const noun = recordName.charAt(0).toLowerCase() + recordName.slice(1);

  /** The options of the type's field `version`. */
  const version = {
    nullable: true as const,
    description:
      "A fingerprint of the record as it was read: an opaque text that changes whenever one of the bank's fields does. Give it to `ifVersion`.",
    resolve: (node: NodeRef<Ids, Item>) => versionOf(recordOf(node)),
  };

  /** Defines a mutation that writes a whole record. */
  function put<Name extends string, More>(options: PutOptions<Name, More, Put, Ids, Item>): void {
    const { name, texts = {}, canRead, update = `update${recordName}` } = options;
    const { description = `Writes ${withArticle(noun)}.` } = options;
    const Input: InputObjectRef<Types, object> = builder.inputType(typeName(name, 'Input'), {
      description: texts.input ?? `The ${noun} to put, and where.`,
      fields: (t) => ({
        ...whereFields(t, options),
        [noun]: t.field({
          type: inputType(
            resource,
            texts.body ??
              `A whole ${noun}, as ${operation.id} sends it. Fields that are left out are not sent, and the bank clears them.`,
          ),
          required: true,
          description: 'The record as it is to be; members that it leaves out are lost.',
        }),
      }),
    });
    type Payload = PutResult<NodeRef<Ids, Item>>;
    const written = writtenNode(nodeType, ({ node }: Payload) => node, canRead);
    const Payload = builder.objectRef<Payload>(typeName(name, 'Payload')).implement({
      description: texts.payload ?? `The bank's answer to ${operation.id}.`,
      fields: (t) => ({
        // Pothos cannot infer the field's types through type parameters.
        [noun]: t.field({
          description: `The ${noun} from the bank's answer, or read again if the answer does not contain it.${canRead ? ' Null if it then has no id to be read by.' : ''} REST then: ${reads}.`,
          ...written,
          ...(canRead ? {} : { extensions: fieldExtensions({ nullMeansError: true }) }),
          ...options.written?.(),
        } as never),
        trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
      }),
    });
    builder.mutationField(name, (t) =>
      t.field({
        type: Payload,
        nullable: true,
        description: `${description} Replaces the whole record: what is left out is lost. To change a part of it use \`${update}\`. REST: ${operation.id}.`,
        args: {
          input: t.arg({
            type: Input,
            required: true,
            description: 'The record to write, and the ids that say which one it is.',
          }),
        },
        ...writeField(
          operation,
          ({ input }: { input: object }, defaults) => {
            const where = whereIn(options.ids, input, defaults);
            const ids = { ...where, ...options.morePath?.(input as Shape<More>) } as OwnIds<Put>;
            const body = toBody(resource, Reflect.get(input, noun));
            // The body has the operation's shape, as the table of the contract says.
            return { where, ids, body: { ...options.defaults?.(where), ...body } as Body<Put> };
          },
          ({ where, body }, answer) => {
            const record = answer as Item | undefined;
            return { node: { ...options.node(where, body, record), record }, trackId: '' };
          },
        ),
      }),
    );
  }

  /** Defines a mutation that changes a record: one read and one write. */
  function update<Name extends string, More, C extends z.ZodObject = T>(
    options: UpdateOptions<Name, More, T, Put, Ids, Item, C>,
  ): void {
    const { name, verb = 'update', read = nodeType.read } = options;
    const { description = `Changes ${withArticle(noun)} and keeps what is not named.` } = options;
    const changed = options.changed ?? (resource as z.ZodObject as C);
    const lists = recordFields(resource).some(({ isList }) => isList);
    const Input: InputObjectRef<Types, object> = builder.inputType(typeName(name, 'Input'), {
      description: `The ${noun} to ${verb}, and how.`,
      fields: (t) => ({
        ...whereFields(t, options),
        changes: t.field({
          type: changesType(
            changed,
            metaOf(changed).changes?.description ??
              `Changes of ${withArticle(noun)}: a field that is left out keeps its value, and null clears it.${lists ? ' A list is replaced as a whole.' : ''}`,
          ),
          required: true,
          description: 'What to change: a field that is left out keeps its value, null clears it.',
        }),
        ifVersion: t.string({
          description:
            'Writes only if the record still has this `version`. If it is left out, writes in any case.',
        }),
      }),
    });
    const payload = typeName(name, 'Payload');
    type Node = NodeRef<Ids, Item>;

    /** Errors: BAD_USER_INPUT. */
    const callOf = (input: UpdateInput<More>, defaults: Defaults) => {
      if (changesNothing(input.changes))
        throw badUserInput('`changes` names nothing to change; nothing was written.', 'changes');
      const where = whereIn(options.ids, input, defaults);
      const named = toChanges(changed, input.changes) as NamedChanges<T, C, Put>;
      return {
        where,
        node: options.node(where),
        ids: { ...where, ...options.morePath?.(input) } as OwnIds<Put>,
        // Updates of the same record wait for each other, through whichever view it is read.
        key: JSON.stringify([operation.id, ...recordIds(where)]),
        changesOf: (record: Item) =>
          options.changes?.(named, record, input, where) ?? (named as Changes<z.infer<Put['body']>>),
      };
    };

    const own = ownIdIn(resource);

    /** The id of a record, if it is another one than the given; otherwise null. */
    const otherIdOf = (record: Item, where: object): string | null => {
      const id: unknown = own && Reflect.get(record, own.rest);
      return own && isOtherId(id, Reflect.get(where, own.name)) ? id : null;
    };

    /**
     * Some banks accept other ids in paths. A read shows their answer under the requested id, but its own id is written back.
     * Errors: BANK_BAD_RESPONSE.
     */
    const checkOwnId = (record: Item, where: object) => {
      const id = otherIdOf(record, where);
      if (id !== null)
        throw new BankqlError(
          'BANK_BAD_RESPONSE',
          `The bank's ${reads} answered with the id ${shownId(id)}, which is not the \`${own?.name}\` that was given: an update needs the record's own id. Nothing was written.`,
          { operation: reads },
        );
    };

    /** The members of a record that no request may contain. */
    const readOnlyIn = (record: Item): object =>
      Object.fromEntries(
        recordFields(resource).flatMap(({ rest, readOnly }) =>
          readOnly ? [[rest, Reflect.get(record, rest)]] : [],
        ),
      );

    const missing = (changes: object, path: string) => {
      const cleared = clearedBy(changed, changes, path.split('.'));
      if (cleared === null)
        return badUserInput(
          `The bank's ${operation.id} requires \`${path}\`, which neither \`changes\` nor the record has; nothing was written.`,
        );
      const argument = `changes.${cleared}`;
      return badUserInput(
        `\`${argument}\` cannot be null: the bank's ${operation.id} requires \`${path}\`; nothing was written.`,
        argument,
      );
    };

    const resolve = async (
      _root: object,
      { input }: { input: object },
      { session, defaults, credentials, lists }: Context,
      info: Selection,
    ): Promise<UpdateResult<Node>> => {
      const given = input as UpdateInput<More>;
      const { where, node, ids, key, changesOf } = callOf(given, defaults);
      let conflict = null as UpdateResult<Node>['conflict'];
      /** The values that the answer to the write must contain. */
      let known: object = {};
      const written = await session.update(key, operation, ids, async (fresh) => {
        const record = await read(node, { session: fresh, defaults, credentials, lists });
        checkOwnId(record, where);
        const version = versionOfWhole(operation, record, versionOf);
        if (typeof given.ifVersion === 'string' && given.ifVersion !== version) {
          const error = new BankqlError(
            'CONFLICT',
            'The record was changed since the version that `ifVersion` names: nothing was written. Select `conflict` to see the record as it is now, and update again with its `version`.',
            { operation: operation.id, version },
          );
          conflict = { node: { ...node, record }, error };
          return null;
        }
        const body = updatedBody(operation.body, record, changesOf(record), (path) =>
          missing(given.changes, path),
        );
        known = { ...readOnlyIn(record), ...body };
        // It has the operation's shape, but TypeScript cannot infer that through a type parameter.
        return body as never;
      });
      if (written === null) {
        // The client would take the payload for a success.
        if (conflict !== null && !selects(info, payload, 'conflict')) throw conflict.error;
        return { written, conflict };
      }
      const { answer, trackId } = written as { answer: (Answer<Put> & Item) | null; trackId: string };
      const isShown = answer !== null && otherIdOf(answer, where) === null && !leavesOut(answer, known);
      const record = isShown ? answer : undefined;
      return { written: { node: { ...node, record }, trackId }, conflict };
    };

    type Result = UpdateResult<Node>;
    const Payload = builder.objectRef<Result>(payload).implement({
      description:
        'The outcome of an update. If the record has another version than `ifVersion`, nothing was written.',
      fields: (t) => ({
        // Pothos cannot infer the field's types through type parameters.
        [noun]: t.field({
          description: `The ${noun} from the bank's answer to the write, or read again if the answer does not show all of it. Null if nothing was written because of a conflict. REST then: ${reads}.`,
          ...writtenNode(nodeType, ({ written }: Result) => written?.node ?? null),
        } as never),
        conflict: t.field({
          type: nodeType.object,
          nullable: true,
          description: `The ${noun} as it is at the bank now, if its version is not \`ifVersion\` and nothing was written; otherwise null. If this field is not selected, a conflict is an error. Costs no further REST call.`,
          resolve: ({ conflict }: Result) => conflict?.node as never,
        }),
        trackId: t.id({
          nullable: true,
          description: "The write's Track-ID; null if nothing was written.",
          resolve: ({ written }: Result) => written?.trackId,
        }),
      }),
    });
    builder.mutationField(name, (t) =>
      t.field({
        type: Payload,
        nullable: true,
        description: `${description} REST: ${reads}, then ${operation.id}.`,
        args: { input: t.arg({ type: Input, required: true, description: 'What to change, and how.' }) },
        resolve,
      }),
    );
  }

  return { version, put, update };
}

/**
 * A payload's field that leads to the written record: as the bank's answer shows it, or read again if a selected field
 * needs that, or null without an id to read it by. Spread it into a Pothos field.
 */
function writtenNode<Payload, Ids extends object, Item>(
  nodeType: NodeType<Ids, Item>,
  /** Null if nothing was written. */
  nodeOf: (payload: Payload) => NodeRef<Ids, Item> | null,
  canRead: (ids: Ids) => boolean = () => true,
) {
  const resolve = (payload: Payload, _args: object, context: Context, info: Selection) => {
    const node = nodeOf(payload);
    if (node === null || node.record !== undefined) return node;
    return canRead(node) ? nodeType.load(node, context, info) : null;
  };
  return { type: nodeType.object, nullable: true, resolve };
}

/**
 * A fingerprint of a record as it was read. Two records have the same one if all members in the shape are equal, in
 * whatever order they came; a null counts as absent, and members that are not in the shape do not count.
 * Errors: BANK_BAD_RESPONSE if any part of the record breaks the contract.
 */
export const versionIn =
  (shape: z.ZodObject) =>
  (record: object): string => {
    unwrap(brokenValueIn(record));
    // Parsing keeps only the shape's members, in the shape's order.
    return hash([JSON.stringify(shape.parse(record), (_key, value) => value ?? undefined)]);
  };

/** The view of an update. */
export const updatedViewDescription =
  'The view through which the record is read; the configured default view if it is left out. It must show the whole record, because hidden fields are lost.';

interface UpdateOptions<
  Name extends string,
  More,
  T,
  Put extends WriteOperation,
  Ids,
  Item,
  C extends z.ZodObject,
> extends MutationOptions<Name, More, UpdateInput<More>> {
  /** What clients do by it: to update, unless it is another word. */
  readonly verb?: string;
  /** The part of the record that can be changed (default: the whole record). */
  readonly changed?: C;
  readonly node: (where: Where<NoInfer<Name>>) => Ids;
  /** Reads the record, if it takes more care than for a query. Errors: nothing is written. */
  readonly read?: (ids: Ids, context: ReadContext) => Promise<Item>;
  /** The body's changes, from those that the input names and from what was read. Errors: BAD_USER_INPUT. */
  readonly changes?: (
    named: NamedChanges<T, C, Put>,
    record: Item,
    input: UpdateInput<More>,
    where: Where<NoInfer<Name>>,
  ) => Changes<z.infer<Put['body']>>;
}

/** The changes that an input names, of the whole body or of the part of it that can be changed. */
type NamedChanges<T, C extends z.ZodObject, Put extends WriteOperation> = Changes<
  C extends T ? z.infer<Put['body']> : RecordBody<C>
>;

type UpdateInput<More> = Shape<More> & {
  readonly changes: object;
  readonly ifVersion?: string | null;
};

/** The outcome of an update: the bank's answer, or the record whose version differs. */
interface UpdateResult<Node> {
  readonly written: PutResult<Node> | null;
  readonly conflict: { readonly node: Node; readonly error: BankqlError } | null;
}

/** The ids of a record, without the view through which it is read. */
const recordIds = (where: object): string[] =>
  Object.entries(where).flatMap(([name, id]) => (name === 'viewId' ? [] : [id]));

/** Errors: BANK_BAD_RESPONSE if what was read is no whole record. */
function versionOfWhole<Item extends object>(
  operation: WriteOperation,
  record: Item,
  versionOf: (record: Item) => string,
): string {
  // An answer whose members are all optional may not be a record at all, but an error with status 200, for
  // example.
  if (!Object.keys(operation.body.shape).some((name) => Reflect.get(record, name) != null))
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `What the bank answered before ${operation.id} holds nothing of a record. Nothing was written.`,
      { operation: operation.id },
    );
  try {
    return versionOf(record);
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    throw new BankqlError(error.code, `${error.message} Nothing was written.`, error.extensions, {
      cause: error,
    });
  }
}
