import type { z } from 'zod';
import { isOtherId } from '../bank/ids.ts';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import { metaOf, recordFields } from '../contract/record.ts';
import { type Changes, changesNothing, leavesOut, updatedBody } from '../contract/updated-body.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { builder, type InputFields } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import { changesType, clearedBy, inputType, ownIdIn } from './fields.ts';
import { link } from './link.ts';
import { shownId } from './list-item.ts';
import type { NodeType } from './node.ts';

/**
 * The common parts of mutations of records. A put sends a whole record. An update reads the record, changes it and writes it
 * back whole, so that members which the update does not name keep their values.
 */

type WriteOperation = Operation & { readonly kind: 'write'; readonly body: z.ZodObject };

/** A record's name in mutations and their descriptions, such as `branch`. */
const nounOf = (typeName: string) => typeName.charAt(0).toLowerCase() + typeName.slice(1);

/** The field of an input for the bank. */
export const bankIdInput = (t: InputFields) =>
  t.id({ description: 'The code of the bank; the configured one if it is left out.' });

/** The field of an update's input for the view. */
export const updatedViewInput = (t: InputFields) =>
  t.id({
    description:
      'The view through which the record is read; the configured one by default. It must show the whole record, because hidden fields are lost.',
  });

/** The field of a put's input for the whole record. */
export function wholeRecordInput(t: InputFields, record: z.ZodObject, write: Operation, more = '') {
  const noun = nounOf(metaOf(record).name ?? '');
  const description = `A whole ${noun}, as ${write.id} sends it. ${more}Fields that are left out are not sent, and the bank clears them.`;
  return t.field({
    type: inputType(record, description),
    required: true,
    description: 'The record as it is to be; members that it leaves out are lost.',
  });
}

/** The fields of an update's input for the changes of a record, or of the part of it that can be changed. */
export function changesInput(t: InputFields, changed: z.ZodObject) {
  const { name = '', changes } = metaOf(changed);
  const noun = nounOf(name);
  const hasLists = recordFields(changed).some(({ isList }) => isList);
  const described = `Changes of ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}: a field that is left out keeps its value, and null clears it.${hasLists ? ' A list is replaced as a whole.' : ''}`;
  return {
    changes: t.field({
      type: changesType(changed, changes?.description ?? described),
      required: true,
      description: 'What to change: null clears a field, no value keeps it.',
    }),
    ifVersion: t.string({
      description: 'Writes only if the record still has this `version`, else CONFLICT.',
    }),
  };
}

/** A written record: its ids, and the record if the bank's answer shows it. */
interface Written<Ids, Item> {
  /** Null if the bank's answer does not show the record, and no id is known with which to read it. */
  readonly ids: Ids | null;
  readonly record: Item | null;
  readonly trackId: string;
}

/**
 * The payload of a mutation that writes a record. The record is read if the bank's answer does not show it, and a
 * selected field needs it.
 */
export const writtenPayload = <Ids extends object, Item extends object>(
  name: string,
  nodeType: NodeType<Ids, Item>,
  {
    write,
    read,
    shown = 'as the bank answered it, or else read again',
    whenNull,
  }: {
    readonly write: Operation;
    readonly read: Operation;
    /** For the field's description: how the payload shows the record. */
    readonly shown?: string;
    /** For the field's description: when the record is null without an error. */
    readonly whenNull?: string;
  },
) => {
  const noun = nounOf(nodeType.name);
  return builder.objectRef<Written<Ids, Item>>(name).implement({
    description: `The bank's answer to ${write.id}.`,
    fields: (t) => ({
      [noun]: link(t, nodeType, {
        description: `The ${noun} ${shown}.${whenNull ? ` ${whenNull}` : ''} REST then: ${read.id}.`,
        fromRecord: true,
        ids: ({ ids, record }) => ids && { ...ids, record: record ?? undefined },
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The write's Track-ID." }),
    }),
  });
};

/** An update of a record. */
interface RecordUpdate<Put extends WriteOperation, Item extends object> {
  readonly shape: z.ZodObject;
  readonly read: Operation;
  readonly write: Put;
  /** The ids of the record, and those in the paths of the operations. */
  readonly ids: OwnIds<Put> & Readonly<Record<string, string>>;
  readonly input: { readonly changes: object; readonly ifVersion?: string | null | undefined };
  /** Reads the record. Errors: nothing is written. */
  readonly load: (context: ReadContext) => Promise<Item>;
  /** The version of the record, as in the type's field `version`. */
  readonly versionOf: (record: Item) => string;
  /** The body's changes, from the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes: (record: Item) => Changes<z.infer<Put['body']>>;
}

/**
 * Reads a record, bypassing all caches, changes it and writes it back whole. Updates of one record run one after the other.
 * Shape:  the record, if the bank's answer shows all of it, and the write's Track-ID.
 * Errors: nothing is written, and the error is BAD_USER_INPUT if nothing is to be changed or a member that the bank requires
 * would be missing; CONFLICT if the record does not have the version `ifVersion`; BANK_BAD_RESPONSE if the record breaks the
 * contract anywhere, since a body made from it would lose that value, or if it has another id than the requested one. Otherwise
 * those of the read and of the write.
 */
export async function updateRecord<Put extends WriteOperation, Item extends object>(
  { session, ...context }: Context,
  update: RecordUpdate<Put, Item>,
): Promise<{ record: Item | null; trackId: string }> {
  const { shape, write, ids, input } = update;
  if (changesNothing(input.changes))
    throw badUserInput('`changes` names nothing to change; nothing was written.', 'changes');
  /** The values that the answer to the write must contain. */
  let known: object = {};
  const { answer, trackId } = await session.update(queueKey(update), write, ids, async (fresh) => {
    const record = await update.load({ ...context, session: fresh });
    checkId(record, update);
    checkVersion(record, update);
    const body = updatedBody(write.body, record, update.changes(record), (path) => missing(path, update));
    known = { ...readOnlyMembers(shape, record), ...body };
    // TypeScript cannot infer the operation's body through a type parameter.
    return body as Body<Put>;
  });
  const record = answer as Item | null;
  const isShown = record !== null && otherId(record, update) === null && !leavesOut(record, known);
  return { record: isShown ? record : null, trackId };
}

/** Updates of the same record wait for each other, through whichever view it is read and whatever its metadata's type. */
const queueKey = ({ write, ids }: Pick<RecordUpdate<WriteOperation, object>, 'write' | 'ids'>): string =>
  JSON.stringify([
    write.id,
    ...Object.entries(ids).flatMap(([name, id]) => (name === 'viewId' || name === 'TYPE' ? [] : [id])),
  ]);

type RecordIds = Pick<RecordUpdate<WriteOperation, object>, 'shape' | 'ids' | 'read'>;

/** The id of a record, if it is another one than the requested; otherwise null. */
function otherId(record: object, { shape, ids }: RecordIds): string | null {
  const own = ownIdIn(shape);
  if (own === undefined) return null;
  const id: unknown = Reflect.get(record, own.rest);
  return isOtherId(id, Reflect.get(ids, own.name)) ? id : null;
}

/**
 * Some banks accept other ids in paths. A read shows their answer under the requested id, but its own id is written back.
 * Errors: BANK_BAD_RESPONSE.
 */
function checkId(record: object, update: RecordIds): void {
  const id = otherId(record, update);
  if (id === null) return;
  const { shape, read } = update;
  throw new BankqlError(
    'BANK_BAD_RESPONSE',
    `The bank's ${read.id} answered with the id ${shownId(id)}, which is not the \`${ownIdIn(shape)?.name}\` that was given: an update needs the record's own id. Nothing was written.`,
    { operation: read.id },
  );
}

/** Errors: CONFLICT; BANK_BAD_RESPONSE if the answer is not a whole record. */
function checkVersion<Item extends object>(
  record: Item,
  {
    write,
    input: { ifVersion },
    versionOf,
  }: Pick<RecordUpdate<WriteOperation, Item>, 'write' | 'input' | 'versionOf'>,
): void {
  // An answer whose members are all optional may not be a record at all, but an error with status 200, for
  // example.
  if (!Object.keys(write.body.shape).some((name) => Reflect.get(record, name) != null))
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `What the bank answered before ${write.id} holds nothing of a record. Nothing was written.`,
      { operation: write.id },
    );
  const version = nothingWritten(() => versionOf(record));
  if (ifVersion == null || ifVersion === version) return;
  throw new BankqlError(
    'CONFLICT',
    'The record was changed since the version that `ifVersion` names: nothing was written. Read it again, and update it with its new `version`.',
    { operation: write.id, version },
  );
}

/** Adds to the message of an error that nothing was written. */
function nothingWritten<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    throw new BankqlError(error.code, `${error.message} Nothing was written.`, error.extensions, {
      cause: error,
    });
  }
}

/** BAD_USER_INPUT for a member that the write requires, and that neither the changes nor the record have. */
function missing(
  path: string,
  { shape, write, input }: Pick<RecordUpdate<WriteOperation, object>, 'shape' | 'write' | 'input'>,
): BankqlError {
  const cleared = clearedBy(shape, input.changes, path.split('.'));
  if (cleared === null)
    return badUserInput(
      `The bank's ${write.id} requires \`${path}\`, which neither \`changes\` nor the record has; nothing was written.`,
    );
  const argument = `changes.${cleared}`;
  return badUserInput(
    `\`${argument}\` cannot be null: the bank's ${write.id} requires \`${path}\`; nothing was written.`,
    argument,
  );
}

/** The members of a record that no request may contain. */
const readOnlyMembers = (shape: z.ZodObject, record: object): object =>
  Object.fromEntries(
    recordFields(shape).flatMap(({ rest, readOnly }) =>
      readOnly ? [[rest, Reflect.get(record, rest)]] : [],
    ),
  );
