import type { z } from 'zod';
import { brokenValueIn, unwrap } from '../bank/answer.ts';
import { isOtherId } from '../bank/ids.ts';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import { recordFields } from '../contract/record.ts';
import { otherSpellings } from '../contract/spelling.ts';
import { changesNothing, leavesOut, updatedBody } from '../contract/updated-body.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { Context, ReadContext } from './context.ts';
import type { AnyBankRef } from './plugin/bank-ref.ts';
import { ownIdIn, type Values } from './plugin/fields.ts';
import { shownId } from './plugin/list-item.ts';
import { clearedBy } from './request-body.ts';

/**
 * An update reads a record, changes it and writes it back whole, so that members which the update does not name keep their
 * values.
 */

export type WriteOperation = Operation & { readonly kind: 'write'; readonly body: z.ZodObject };
export type Ids = Readonly<Record<string, string>>;

/** The result of a write: the ids of the record, and the record if the bank's answer shows it. */
export interface Written {
  /** Null if the bank's answer does not show the record, and the record cannot be read because its id is unknown. */
  readonly ids: object | null;
  readonly record: unknown;
  readonly trackId: string;
}

interface RecordUpdate {
  readonly ref: AnyBankRef;
  readonly write: WriteOperation;
  /** The ids in the paths of the operations. */
  readonly ids: Ids;
  readonly input: Values;
  /** Makes the changes of the body, given the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes: (record: Values) => object;
}

/**
 * Reads a record, bypassing all caches, changes it and writes it back whole. Updates of one record run one after the other.
 * Shape:  the record, if the bank's answer shows all of it, and the write's Track-ID.
 * Errors: those of the read and of the write, and the following, after which nothing was written.
 * - BAD_USER_INPUT if nothing is to be changed, or a member that the bank requires would be missing.
 * - CONFLICT if the record does not have the version `ifVersion`.
 * - BANK_BAD_RESPONSE if any value of the record breaks the contract, because the body would lose this value, or if the record
 *   has another id than the requested one.
 */
export async function updateRecord({ session, ...context }: Context, update: RecordUpdate): Promise<Written> {
  const { ref, write, ids, input } = update;
  if (changesNothing(input.changes))
    throw badUserInput('`changes` names nothing to change; nothing was written.', 'changes');
  /** The members that the answer to the write must contain, for the record to be shown from it. */
  let known: object = {};
  // TypeScript cannot infer the ids and the body of an unknown operation.
  const path = ids as OwnIds<WriteOperation>;
  const { answer, trackId } = await session.update(queueKey(write, ids), write, path, async (fresh) => {
    const record = await readRecord(update, { ...context, session: fresh });
    checkRecord(record, update);
    checkVersion(record, update);
    const body = updatedBody(write.body, record, update.changes(record), (at) => missing(at, update));
    known = { ...readOnlyMembers(ref, record), ...body };
    return body as Body<WriteOperation>;
  });
  const shown = answer as Values | null;
  const isShown = shown !== null && otherId(shown, update) === null && !leavesOut(shown, known);
  return { ids, record: isShown ? shown : null, trackId };
}

/**
 * Errors: those of the read; BANK_BAD_RESPONSE if several records of the list have this id, because the first may be the wrong
 *         one.
 */
async function readRecord({ ref, ids }: RecordUpdate, context: ReadContext): Promise<Values> {
  const { operation } = ref;
  const answer = await ref.load(ids, context);
  if (ref.isInList && ref.entriesWith(answer as readonly Values[], ids).length > 1)
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank's ${operation.id} lists several ${ref.plural} with the id ${shownId(String(ids[ref.own]))}, so that it is not known which one to change. Nothing was written.`,
      { operation: operation.id },
    );
  return ref.recordIn(answer, ids, context);
}

/** Updates of the same record wait for each other, whatever the view and the metadata's type. */
const queueKey = (write: Operation, { viewId, TYPE, ...ids }: Ids): string =>
  JSON.stringify([write.id, ...Object.values(ids)]);

/** The id of a record, if it is not the requested one; otherwise null. */
function otherId(record: Values, { ref, ids }: RecordUpdate): string | null {
  const own = ownIdIn(ref.shape);
  const id = own && record[own.rest];
  return own && isOtherId(id, ids[own.name]) ? id : null;
}

/**
 * Refuses a record that must not be written back. Some banks accept other ids in paths: a read shows such a record under the
 * requested id, but a write would contain the record's own id. And because all members are optional, an answer may be no record
 * at all, but an error with status 200.
 * Errors: BANK_BAD_RESPONSE for such a record, and if any part of the record breaks the contract.
 */
function checkRecord(record: Values, update: RecordUpdate): void {
  const { ref, write } = update;
  const { operation: read } = ref;
  const refuse = ({ id: operation }: Operation, message: string) =>
    new BankqlError('BANK_BAD_RESPONSE', `${message} Nothing was written.`, { operation });
  const id = otherId(record, update);
  if (id !== null)
    throw refuse(
      read,
      `The bank's ${read.id} answered with the id ${shownId(id)}, which is not the \`${ownIdIn(ref.shape)?.name}\` that was given: an update needs the record's own id.`,
    );
  if (Object.keys(write.body.shape).every((name) => record[name] == null))
    throw refuse(write, `What the bank answered before ${write.id} holds nothing of a record.`);
  const [misspelt] = otherSpellings(ref.shape, record);
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
function checkVersion(record: Values, { ref, write, input: { ifVersion } }: RecordUpdate): void {
  if (ifVersion == null) return;
  const version = ref.version(record);
  if (ifVersion === version) return;
  throw new BankqlError(
    'CONFLICT',
    'The record was changed since the version that `ifVersion` names: nothing was written. Read it again, and update it with its new `version`.',
    { operation: write.id, version },
  );
}

/** The error BAD_USER_INPUT for a member that the write requires, but neither the changes nor the record contain. */
function missing(path: string, { ref, write, input }: RecordUpdate): BankqlError {
  const cleared = clearedBy(ref.shape, input.changes, path.split('.'));
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

/** Those members of a record that no request may contain. */
const readOnlyMembers = ({ shape }: AnyBankRef, record: Values): object =>
  Object.fromEntries(
    recordFields(shape).flatMap(({ rest, readOnly }) => (readOnly ? [[rest, record[rest]]] : [])),
  );
