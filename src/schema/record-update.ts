import type { z } from 'zod';
import { brokenValueIn, unwrap } from '../bank/answer.ts';
import { isOtherId } from '../bank/ids.ts';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import { recordFields } from '../contract/record.ts';
import { otherSpellings } from '../contract/spelling.ts';
import { type Changes, changesNothing, leavesOut, updatedBody } from '../contract/updated-body.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { Context, ReadContext } from './context.ts';
import { ownIdIn } from './plugin/fields.ts';
import { shownId } from './plugin/list-item.ts';
import { versionOf as recordVersion } from './record-version.ts';
import { clearedBy } from './request-body.ts';

/**
 * An update reads a record, changes it and writes it back whole, so that members which the update does not name keep their
 * values.
 */

export type WriteOperation = Operation & { readonly kind: 'write'; readonly body: z.ZodObject };

/** A written record: its ids, and the record if the bank's answer shows it. */
export interface Written<Ids, Item> {
  /** Null if the bank's answer does not show the record, and no id is known with which to read it. */
  readonly ids: Ids | null;
  readonly record: Item | null;
  readonly trackId: string;
}

/** An update of a record. */
interface RecordUpdate<Put extends WriteOperation, Ids, Item> {
  readonly shape: z.ZodObject;
  readonly read: Operation;
  readonly write: Put;
  /** The ids of the record, and those in the paths of the operations. */
  readonly ids: Ids & OwnIds<Put> & Readonly<Record<string, string>>;
  readonly input: { readonly changes: object; readonly ifVersion?: string | null | undefined };
  /** Reads the record. Errors: nothing is written. */
  readonly load: (context: ReadContext) => Promise<Item>;
  /** The version of the record, as in the type's field `version`; by default that of its shape. */
  readonly versionOf?: (record: Item) => string;
  /** The body's changes, from the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes: (record: Item) => Changes<z.infer<Put['body']>>;
}

export type RestRecord = Readonly<Record<string, unknown>>;

/**
 * Reads a record, bypassing all caches, changes it and writes it back whole. Updates of one record run one after the other.
 * Shape:  the record, if the bank's answer shows all of it, and the write's Track-ID.
 * Errors: nothing is written, and the error is BAD_USER_INPUT if nothing is to be changed or a member that the bank requires
 * would be missing; CONFLICT if the record does not have the version `ifVersion`; BANK_BAD_RESPONSE if the record breaks the
 * contract anywhere, since a body made from it would lose that value, or if it has another id than the requested one. Otherwise
 * those of the read and of the write.
 */
export async function updateRecord<Put extends WriteOperation, Ids, Item extends RestRecord>(
  { session, ...context }: Context,
  update: RecordUpdate<Put, Ids, Item>,
): Promise<Written<Ids, Item>> {
  const { shape, write, ids, input } = update;
  if (changesNothing(input.changes))
    throw badUserInput('`changes` names nothing to change; nothing was written.', 'changes');
  /** The values that the answer to the write must contain. */
  let known: object = {};
  const { answer, trackId } = await session.update(queueKey(write, ids), write, ids, async (fresh) => {
    const record = await update.load({ ...context, session: fresh });
    checkRecord(record, update);
    checkVersion(record, update);
    const body = updatedBody(write.body, record, update.changes(record), (path) => missing(path, update));
    known = { ...readOnlyMembers(shape, record), ...body };
    // TypeScript cannot infer the operation's body through a type parameter.
    return body as Body<Put>;
  });
  const record = answer as Item | null;
  const isShown = record !== null && otherId(record, update) === null && !leavesOut(record, known);
  return { ids, record: isShown ? record : null, trackId };
}

/** Updates of the same record wait for each other, through whichever view it is read and whatever its metadata's type. */
const queueKey = (write: Operation, { viewId, TYPE, ...ids }: Readonly<Record<string, string>>): string =>
  JSON.stringify([write.id, ...Object.values(ids)]);

type AnyUpdate = RecordUpdate<WriteOperation, unknown, never>;
type RecordIds = Pick<AnyUpdate, 'shape' | 'ids'>;

/** The id of a record, if it is another one than the requested; otherwise null. */
function otherId(record: RestRecord, { shape, ids }: RecordIds): string | null {
  const own = ownIdIn(shape);
  if (own === undefined) return null;
  const id = record[own.rest];
  return isOtherId(id, ids[own.name]) ? id : null;
}

/**
 * Some banks accept other ids in paths. A read shows their answer under the requested id, but its own id is written back. An answer
 * whose members are all optional may not be a record at all, but an error with status 200, for example.
 * Errors: BANK_BAD_RESPONSE, also if any part of the record breaks the contract.
 */
function checkRecord(
  record: RestRecord,
  { shape, ids, read, write }: Pick<AnyUpdate, 'shape' | 'ids' | 'read' | 'write'>,
): void {
  const refuse = ({ id: operation }: Operation, message: string) =>
    new BankqlError('BANK_BAD_RESPONSE', `${message} Nothing was written.`, { operation });
  const id = otherId(record, { shape, ids });
  if (id !== null)
    throw refuse(
      read,
      `The bank's ${read.id} answered with the id ${shownId(id)}, which is not the \`${ownIdIn(shape)?.name}\` that was given: an update needs the record's own id.`,
    );
  if (Object.keys(write.body.shape).every((name) => record[name] == null))
    throw refuse(write, `What the bank answered before ${write.id} holds nothing of a record.`);
  const [misspelt] = otherSpellings(shape, record);
  if (misspelt !== undefined)
    throw refuse(
      read,
      `The bank's ${read.id} answered with a member ${misspelt}, which is the specification's in another spelling: a write would lose its value.`,
    );
  const broken = brokenValueIn(record);
  if (broken instanceof BankqlError) {
    const { code, message, extensions } = broken;
    throw new BankqlError(code, `${message} Nothing was written.`, extensions, { cause: broken });
  }
  unwrap(broken);
}

/** Errors: CONFLICT. */
function checkVersion<Item extends RestRecord>(
  record: Item,
  {
    shape,
    write,
    input: { ifVersion },
    versionOf = (read) => recordVersion(shape, read),
  }: Pick<RecordUpdate<WriteOperation, unknown, Item>, 'shape' | 'write' | 'input' | 'versionOf'>,
): void {
  if (ifVersion == null) return;
  const version = versionOf(record);
  if (ifVersion === version) return;
  throw new BankqlError(
    'CONFLICT',
    'The record was changed since the version that `ifVersion` names: nothing was written. Read it again, and update it with its new `version`.',
    { operation: write.id, version },
  );
}

/** BAD_USER_INPUT for a member that the write requires, and that neither the changes nor the record have. */
function missing(
  path: string,
  { shape, write, input }: Pick<AnyUpdate, 'shape' | 'write' | 'input'>,
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
const readOnlyMembers = (shape: z.ZodObject, record: RestRecord): object =>
  Object.fromEntries(
    recordFields(shape).flatMap(({ rest, readOnly }) => (readOnly ? [[rest, record[rest]]] : [])),
  );
