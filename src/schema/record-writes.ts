import type { InputFieldMap } from '@pothos/core';
import type { z } from 'zod';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import { recordField } from '../contract/record.ts';
import type { Changes } from '../contract/updated-body.ts';
import { builder, type InputFields, type Types } from './builder.ts';
import { bankIdDescription, bankIdOr, type Context, type Defaults, viewIdOr } from './context.ts';
import type { Values } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import type { BankTypes } from './plugin/key.ts';
import type { AnyBankRef, BankRef } from './plugin/node.ts';
import { type Ids, updateRecord, type WriteOperation, type Written } from './record-update.ts';
import { toBody, toChanges } from './request-body.ts';
import { calls } from './rest-extensions.ts';

/** Makes the mutations that write records: see writes.ts. */

/** What is special about a mutation. */
interface Mutation {
  /** Its name; by default `put` or `update` and the name of the type. */
  readonly name?: string;
  readonly description?: string;
  /** The ids in its input besides the bank's code, with their descriptions; by default those in the record's path. */
  readonly ids?: Ids;
  /** The description of the input for the view, if it has one. */
  readonly view?: string;
  /** Further fields of its input. */
  readonly fields?: (t: InputFields) => InputFieldMap;
  /** Further segments of the path. Errors: BAD_USER_INPUT. */
  readonly path?: (input: Values) => Ids;
}

interface Put<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  /** The body, from that of the input; by default the same. */
  readonly body?: (body: Body<Write>, ids: Ids) => Body<Write>;
  /** The ids of the record that was written; null if they are not known. */
  readonly written?: (ids: Ids, answer: T['Item'] | null, body: Body<Write>) => object | null;
  /** Whether the record is read again, whatever the bank answers. */
  readonly hidesAnswer?: true;
  /** What the record in the payload is. */
  readonly shown?: string;
}

interface Update<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  /** The part of the record that can be changed; by default all of it. */
  readonly part?: string;
  /** The body's changes, from those of the input and the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes?: (
    changes: Changes<z.infer<Write['body']>>,
    read: T['Item'],
    ids: Ids,
    input: Values,
  ) => Changes<z.infer<Write['body']>>;
}

/** Makes the two mutations of a record: one writes it whole, the other changes a part of it. */
export function defineWrites<T extends BankTypes & { Item: object }, Write extends WriteOperation>(
  ref: BankRef<Types, T>,
  write: Write,
  { put = {}, update = {} }: { put?: Put<T, Write>; update?: Update<T, Write> } = {},
): void {
  const { name: typeName, noun, shape } = ref;
  const one = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
  const { name: updateName = `update${typeName}` } = update;
  const [verb] = /^[a-z]+/.exec(updateName) ?? [];
  const { part } = update;
  const changed = part === undefined ? shape : (recordField(shape, part).type as z.ZodObject);

  defineWrite(ref, {
    ...put,
    name: put.name ?? `put${typeName}`,
    inputDescription: `The ${noun} to put, and where.`,
    description: `Writes ${one} whole; \`${updateName}\` changes a part.`,
    operations: [write],
    inputFields: (t) => ({
      [noun]: t.field({
        type: builder.bankInput(shape, {
          description: 'A whole record: what is left out is lost.',
        }),
        required: true,
        description: 'The record as it is to be: what it leaves out is lost.',
      }),
    }),
    async resolve(ids, input, { session }) {
      const given = toBody(shape, input[noun] as Values, `${noun}.`) as Body<Write>;
      const body = put.body?.(given, ids) ?? given;
      const { answer, trackId } = await session.write(write, ids as OwnIds<Write>, body);
      const record = answer as T['Item'] | null;
      const written = put.written === undefined ? ids : put.written(ids, record, body);
      return { ids: written, record: put.hidesAnswer ? null : record, trackId };
    },
  });

  defineWrite(ref, {
    ...update,
    name: updateName,
    inputDescription: `The ${noun} to ${verb}, and how.`,
    description: update.description ?? `Changes a part of ${one}.`,
    operations: [ref.readOperation, write],
    inputFields: (t) => ({
      changes: t.field({
        type: builder.bankInput(changed, {
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
    async resolve(ids, input, context) {
      const given = toChanges(changed, input.changes as Values);
      const changes = (part === undefined ? given : { [part]: given }) as Changes<z.infer<Write['body']>>;
      return updateRecord(context, {
        ref,
        write,
        ids,
        input,
        changes: (read) => update.changes?.(changes, read as T['Item'], ids, input) ?? changes,
      });
    },
  });
}

interface Write extends Mutation {
  readonly name: string;
  readonly inputDescription: string;
  readonly inputFields: (t: InputFields) => InputFieldMap;
  readonly resolve: (ids: Ids, input: Values, context: Context) => Promise<Written>;
  readonly operations: readonly Operation[];
  readonly shown?: string;
}

/** Makes a mutation that writes a record. The record is read if the bank's answer does not show it, and a selected field needs it. */
function defineWrite(ref: AnyBankRef, mutation: Write): void {
  const { description = '', shown = 'as the bank answered it, or read again.', view } = mutation;
  const names = ref.names.filter((name) => name !== 'bankId' && name !== 'viewId');
  const {
    ids = Object.fromEntries(names.map((name) => [name, `The ${name.replace(/Id$/, '')}'s id at the bank.`])),
  } = mutation;
  builder.relayMutationField(
    mutation.name,
    {
      description: mutation.inputDescription,
      inputFields: (t) => ({
        bankId: t.id({ description: bankIdDescription }),
        ...Object.fromEntries(
          Object.entries(ids).map(([name, of]) => [name, t.id({ required: true, description: of })]),
        ),
        ...(view === undefined ? {} : { viewId: t.id({ description: view }) }),
        ...mutation.fields?.(t),
        ...mutation.inputFields(t),
      }),
    },
    {
      description,
      extensions: calls(...mutation.operations),
      resolve: async (_root, args: { readonly input: Values }, { bankql }) => {
        const { input } = args;
        const path = pathIn(input, Object.keys(ids), view !== undefined, bankql.defaults);
        return mutation.resolve({ ...path, ...mutation.path?.(input) }, input, bankql);
      },
    },
    {
      description: 'The record after the write.',
      outputFields: (t) => ({
        [ref.noun]: t.link(ref, {
          description: `The record ${shown}`,
          fromRecord: true,
          ids: ({ ids, record }) => ids && { ...ids, record: record ?? undefined },
        }),
        trackId: t.exposeID('trackId', { nullable: false, description: "The write's Track-ID." }),
      }),
    },
  );
}

/** The ids in an input. Errors: BAD_USER_INPUT. */
function pathIn(input: Values, names: readonly string[], hasView: boolean, defaults: Defaults): Ids {
  const ids: Record<string, string> = { bankId: bankIdOr(defaults, input.bankId as string | null) };
  for (const name of names) ids[name] = restId(name, String(input[name]));
  if (hasView) ids.viewId = viewIdOr(defaults, input.viewId as string | null);
  return ids;
}
