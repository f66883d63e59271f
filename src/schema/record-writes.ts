import type { InputFieldMap } from '@pothos/core';
import type { z } from 'zod';
import type { Body, Operation, OwnIds } from '../contract/operation.ts';
import { recordField } from '../contract/record.ts';
import type { Changes } from '../contract/updated-body.ts';
import { builder, type InputFields, type Types } from './builder.ts';
import { bankIdDescription, bankIdOr, type Context, type Defaults, viewIdOr } from './context.ts';
import type { AnyBankRef, BankRef } from './plugin/bank-ref.ts';
import type { Values } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import type { BankTypes } from './plugin/key.ts';
import { type Ids, updateRecord, type WriteOperation, type Written } from './record-update.ts';
import { toBody, toChanges } from './request-body.ts';
import { calls } from './rest-extensions.ts';

/** Makes the mutations that write records: see writes.ts. */

/** The options of a mutation. */
interface Mutation {
  /** The name of the mutation; by default `put` or `update` and the name of the type. */
  readonly name?: string;
  /** Further fields of the input. */
  readonly fields?: (t: InputFields) => InputFieldMap;
}

interface Put<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  /** The names of the ids in the path and the input; by default those of the record. */
  readonly names?: readonly string[];
  /** Converts the body of the input to that of the request; by default they are the same. */
  readonly body?: (body: Body<Write>, ids: Ids) => Body<Write>;
  /** Finds the ids of the written record, if the path does not have them; null if they are unknown. */
  readonly written?: (ids: Ids, answer: T['Item'] | null, body: Body<Write>) => object | null;
}

interface Update<T extends BankTypes, Write extends WriteOperation> extends Mutation {
  readonly description?: string;
  /** The member to which changes are limited; by default, the whole record can be changed. */
  readonly part?: string;
  /** Makes the body's changes, given the input's changes and the record that was read. Errors: BAD_USER_INPUT. */
  readonly changes?: (
    changes: Changes<z.infer<Write['body']>>,
    read: T['Item'],
    ids: Ids,
    input: Values,
  ) => Changes<z.infer<Write['body']>>;
}

/** The options of the writes of a record. */
interface Special<T extends BankTypes, Write extends WriteOperation> {
  readonly put?: Put<T, Write>;
  readonly update?: Update<T, Write>;
  /** Further segments of the path. Errors: BAD_USER_INPUT. */
  readonly path?: (input: Values) => Ids;
}

/** Makes the two mutations of a record: one writes it whole, the other changes a part of it. */
export function defineWrites<T extends BankTypes & { Item: object }, Write extends WriteOperation>(
  ref: BankRef<Types, T>,
  write: Write,
  { put = {}, update = {}, path }: Special<T, Write> = {},
): void {
  const { name: typeName, noun, shape, names } = ref;
  const one = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
  const { name: updateName = `update${typeName}`, part } = update;
  const changed = part === undefined ? shape : (recordField(shape, part).type as z.ZodObject);
  // If the path has no view, the record is read again: the answer may show values that the view hides.
  const hidesAnswer = names.includes('viewId') && !write.path.includes('{VIEW_ID}');

  defineWrite(ref, {
    path,
    names,
    name: `put${typeName}`,
    ...put,
    inputDescription: `The ${noun} to put, and where.`,
    description: `Writes ${one} whole; \`${updateName}\` changes a part.`,
    viewDescription: 'The view of the record; the configured one by default.',
    operations: [write],
    inputFields: (t) => ({
      [noun]: t.field({
        type: builder.bankInput(shape, {
          description: 'A whole record: what is left out is lost.',
        }),
        required: true,
        description: 'The whole new record: what it leaves out is lost.',
      }),
    }),
    async resolve(ids, input, { session }) {
      const given = toBody(shape, input[noun] as Values, `${noun}.`) as Body<Write>;
      const body = put.body?.(given, ids) ?? given;
      const { answer, trackId } = await session.write(write, ids as OwnIds<Write>, body);
      const record = hidesAnswer ? null : (answer as T['Item'] | null);
      const written = put.written === undefined ? ids : put.written(ids, record, body);
      return { ids: written, record, trackId };
    },
  });

  defineWrite(ref, {
    path,
    names,
    name: updateName,
    description: `Changes a part of ${one}.`,
    ...update,
    inputDescription: `The ${noun} to ${/^[a-z]+/.exec(updateName)}, and how.`,
    viewDescription: 'The view, which must show the whole record: fields that it hides would be lost.',
    operations: [ref.operation, write],
    inputFields: (t) => ({
      changes: t.field({
        type: builder.bankInput(changed, {
          changes: true,
          description: 'Changes of a record; a list is replaced whole.',
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
  readonly description: string;
  readonly inputDescription: string;
  /** The names of the ids in the input. */
  readonly names: readonly string[];
  readonly path: ((input: Values) => Ids) | undefined;
  readonly viewDescription: string;
  readonly inputFields: (t: InputFields) => InputFieldMap;
  readonly operations: readonly Operation[];
  readonly resolve: (ids: Ids, input: Values, context: Context) => Promise<Written>;
}

/** Makes a mutation that writes a record. The record is read if the bank's answer does not show it, and a selected field needs it. */
function defineWrite(ref: AnyBankRef, mutation: Write): void {
  builder.relayMutationField(
    mutation.name,
    {
      description: mutation.inputDescription,
      inputFields: (t) => ({
        ...Object.fromEntries(mutation.names.map((name) => [name, idField(t, name, mutation)])),
        ...mutation.fields?.(t),
        ...mutation.inputFields(t),
      }),
    },
    {
      description: mutation.description,
      extensions: calls(...mutation.operations),
      resolve: async (_root, args: { readonly input: Values }, { bankql }) => {
        const { input } = args;
        const ids = mutation.names.map((name) => [name, idIn(input, name, bankql.defaults)]);
        return mutation.resolve({ ...Object.fromEntries(ids), ...mutation.path?.(input) }, input, bankql);
      },
    },
    {
      description: 'The record after the write.',
      outputFields: (t) => ({
        [ref.noun]: t.link(ref, {
          description: 'The record as the bank answered it, or read again.',
          fromRecord: true,
          ids: ({ ids, record }) => ids && { ...ids, record: record ?? undefined },
        }),
        trackId: t.exposeID('trackId', { nullable: false, description: "The write's Track-ID." }),
      }),
    },
  );
}

/** The input field for an id in paths. */
function idField(t: InputFields, name: string, { viewDescription }: Write) {
  if (name === 'bankId') return t.id({ description: bankIdDescription });
  if (name === 'viewId') return t.id({ description: viewDescription });
  return t.id({ required: true, description: `The ${name.replace(/Id$/, '')}'s id at the bank.` });
}

/** The id in an input. Errors: BAD_USER_INPUT. */
function idIn(input: Values, name: string, defaults: Defaults): string {
  const id = input[name] as string | null | undefined;
  if (name === 'bankId') return bankIdOr(defaults, id);
  if (name === 'viewId') return viewIdOr(defaults, id);
  return restId(name, String(id));
}
