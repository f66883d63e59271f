import type { InputFieldMap } from '@pothos/core';
import type { z } from 'zod';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import type { Changes } from '../contract/updated-body.ts';
import { builder, type InputFields, type ObjectFields, type Types } from './builder.ts';
import { bankIdDescription, bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import type { BankRef, BankTypes } from './plugin/node.ts';
import { type RestRecord, updateRecord, type WriteOperation, type Written } from './record-update.ts';

/** Makes the mutations that write records: see writes.ts. */

type Input = Readonly<Record<string, unknown>>;
type Ids = Readonly<Record<string, string>>;
type NamedIds = Ids & { readonly bankId: string };

/** The input that names a record, and what is sent besides. */
interface Mutation {
  /** The name of the mutation; by default `put` or `update` and the name of the type. */
  readonly name?: string;
  readonly description?: string;
  /** The ids in its input besides `bankId`, with their descriptions; by default those of the row. */
  readonly ids?: Ids;
  /** Further fields of its input. */
  readonly fields?: (t: InputFields) => InputFieldMap;
  /** Further segments of the path. Errors: BAD_USER_INPUT. */
  readonly path?: (input: Input) => Ids;
}

interface Put<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  /** The description of the input for the view through which the payload is read, if it has one. */
  readonly view?: string;
  /** The body, from that of the input; by default the same. */
  readonly body?: (body: Body<Write>, ids: NamedIds) => Body<Write>;
  /** The ids of the record that was written; null if they are not known. */
  readonly written?: (ids: NamedIds, answer: T['Item'] | null, body: Body<Write>) => T['Ids'] | null;
  /** Whether the record is read again, whatever the bank answers. */
  readonly hidesAnswer?: true;
  /** What the record in the payload is. */
  readonly shown?: string;
}

interface Update<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  readonly verb?: string;
  /** Whether a view is needed to read the record. */
  readonly hasView?: true;
  /** The part of the record that can be changed; by default all of it. */
  readonly changed?: z.ZodObject;
  /** The body's changes, from the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes?: (read: T['Item'], input: UpdateInput, ids: T['Path']) => Changes<z.infer<Write['body']>>;
}

type UpdateInput = Input & { readonly changes: Input; readonly ifVersion?: string | null };

interface Row<T extends BankTypes, Write extends WriteOperation> {
  readonly read: Operation;
  readonly write: Write;
  readonly article?: 'a' | 'an';
  readonly ids?: Ids;
  readonly put?: Put<T, Write>;
  readonly update?: Update<T, Write>;
}

const viewOfUpdate =
  'The view for reading the record, which must show all of it, or hidden fields are lost; the configured one by default.';

/** Makes the two mutations of a record: one writes it whole, the other changes a part of it. */
export function defineWrites<T extends BankTypes & { Item: object }, Write extends WriteOperation>(
  ref: BankRef<Types, T>,
  { read, write, article = 'a', ids = {}, put = {}, update = {} }: Row<T, Write>,
): void {
  const { name: typeName, noun, shape } = ref;
  const putName = put.name ?? `put${typeName}`;
  const updateName = update.name ?? `update${typeName}`;

  builder.relayMutationField(
    putName,
    {
      description: `The ${noun} to put, and where.`,
      inputFields: (t) => ({
        ...idFields(t, put.ids ?? ids, put.view),
        ...put.fields?.(t),
        [noun]: t.field({
          type: builder.bankInput(shape, {
            description: `A whole record, as ${write.id} sends it: what is left out is lost.`,
          }),
          required: true,
          description: 'The record as it is to be: what it leaves out is lost.',
        }),
      }),
    },
    {
      description: `Writes ${article} ${noun} whole; \`${updateName}\` changes a part. REST: ${write.id}.`,
      resolve: async (_root, args, { bankql: { session, defaults } }) => {
        const input = inputOf(args);
        const named = idsOf(input, put.ids ?? ids, put.view !== undefined, defaults);
        const given = toBody(shape, input[noun] as Input, `${noun}.`) as Body<Write>;
        const body = put.body?.(given, named) ?? given;
        const path = { ...named, ...put.path?.(input) } as OwnIds<Write>;
        const { answer, trackId } = await session.write(write, path, body);
        const written =
          put.written === undefined ? named : put.written(named, answer as T['Item'] | null, body);
        return { ids: written, record: put.hidesAnswer ? null : answer, trackId } as WrittenOf<T>;
      },
    },
    payloadOf(ref, { read, write }, put.shown),
  );

  builder.relayMutationField(
    updateName,
    {
      description: `The ${noun} to ${update.verb ?? 'update'}, and how.`,
      inputFields: (t) => ({
        ...idFields(t, update.ids ?? ids, update.hasView && viewOfUpdate),
        ...update.fields?.(t),
        changes: t.field({
          type: builder.bankInput(update.changed ?? shape, {
            changes: true,
            description: 'Changes of a record. A list is replaced whole.',
          }),
          required: true,
          description: 'What to change: null clears a field, no value keeps it.',
        }),
        ifVersion: t.string({
          description: 'Writes only if the record still has this `version`, else CONFLICT.',
        }),
      }),
    },
    {
      description:
        update.description ?? `Changes a part of ${article} ${noun}. REST: ${read.id}, ${write.id}.`,
      resolve: (_root, args, { bankql }) => {
        const input = inputOf(args) as UpdateInput;
        const named = idsOf(input, update.ids ?? ids, update.hasView === true, bankql.defaults);
        return updateRecord<WriteOperation, T['Ids'], RestRecord>(bankql, {
          shape,
          read,
          write,
          ids: { ...named, ...update.path?.(input) } as T['Ids'] & OwnIds<WriteOperation> & Ids,
          input,
          load: (fresh) => ref.readForUpdate(named, fresh) as Promise<RestRecord>,
          versionOf: (record) => ref.version(record),
          changes: (record) =>
            update.changes?.(record as T['Item'], input, named) ?? toChanges(shape, input.changes),
        }) as Promise<WrittenOf<T>>;
      },
    },
    payloadOf(ref, { read, write }),
  );
}

type WrittenOf<T extends BankTypes> = Written<T['Ids'], T['Item']>;

/** The argument of a mutation whose fields are those of its row. */
const inputOf = (args: object): Input => Reflect.get(args, 'input');

const idFields = (t: InputFields, ids: Ids, view: string | undefined): InputFieldMap => ({
  bankId: t.id({ description: bankIdDescription }),
  ...Object.fromEntries(
    Object.entries(ids).map(([name, description]) => [name, t.id({ required: true, description })]),
  ),
  ...(view === undefined ? {} : { viewId: t.id({ description: view }) }),
});

/** The ids in an input. Errors: BAD_USER_INPUT. */
function idsOf(input: Input, names: Ids, hasView: boolean, defaults: Defaults): NamedIds {
  const ids: Record<string, string> & { bankId: string } = {
    bankId: bankIdOr(defaults, input.bankId as string | null),
  };
  for (const name of Object.keys(names)) ids[name] = restId(name, String(input[name]));
  if (hasView) ids.viewId = viewIdOr(defaults, input.viewId as string | null);
  return ids;
}

/**
 * The payload of a mutation that writes a record. The record is read with `read` if the bank's answer does not show it, and a
 * selected field needs it. `shown` says so in its description.
 */
const payloadOf = <T extends BankTypes>(
  ref: BankRef<Types, T>,
  { read, write }: { readonly read: Operation; readonly write: Operation },
  shown = 'as the bank answered it, or read again.',
) => ({
  description: `The bank's answer to ${write.id}.`,
  outputFields: (t: ObjectFields<WrittenOf<T>>) => ({
    [ref.noun]: t.link(ref, {
      description: `The record ${shown} REST then: ${read.id}.`,
      fromRecord: true,
      ids: ({ ids, record }) => ids && { ...ids, record: record ?? undefined },
    }),
    trackId: t.exposeID('trackId', { nullable: false, description: "The write's Track-ID." }),
  }),
});
