import { z } from 'zod';
import { type NewRow, type RowChange, type RowQuery, storedRow } from '../driver.ts';
import {
  afterInsert,
  countSql,
  insertedValues,
  insertSql,
  postgresNow,
  purgeSql,
  recoverSql,
  removeSql,
  replacedValues,
  replaceSql,
  searchSql,
  selectSql,
} from '../payment-table.ts';
import { standbysConfirm } from './postgres-server.ts';

/** The statements of the payment store. Each is its own transaction. */

export interface Statement {
  readonly text: string;
  /** The name under which each connection prepares the statement once. */
  readonly name?: string;
  readonly values: unknown[];
}

const table = 'bankql.payment';
const dialect = { table, mark: '$', now: postgresNow } as const;
const purgeBatch = 500;

/** Replaces NUL, the only character that PostgreSQL's text cannot contain. No meaningful name or amount has it. */
const storable = (values: readonly (string | number | null)[]) =>
  values.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '\u2400') : value));

/** With these settings, a statement that was prepared while the table was empty will still use the indexes later. */
export const plannedOnce = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** A row that was found. `is_witnessed`: false if the store lacks the witness (witness.ts). */
export const foundRow = storedRow.extend({ is_witnessed: z.boolean() });

/**
 * An expression for whether the witness exists; true if there is no witness to look for. `number`: the number of
 * its parameter.
 */
const isWitnessed = (number: number) =>
  `($${number}::text IS NULL OR EXISTS (SELECT FROM ${table} WHERE id = $${number}))`;

const [storeId, witness] = [afterInsert, afterInsert + 1];
const find = (number: number) => selectSql(dialect, `, ${isWitnessed(number)} AS is_witnessed`);
const texts = {
  insert: `WITH inserted AS (${insertSql(
    dialect,
    `FROM bankql.store WHERE store.id = $${storeId} AND store.loss IS NULL AND store.standbys_confirm = ${standbysConfirm}
      AND ${isWitnessed(witness)}`,
  )})
    SELECT *, true AS is_witnessed FROM inserted UNION ALL ${find(witness)} AND NOT EXISTS (SELECT FROM inserted)`,
  find: find(2),
  replace: replaceSql(dialect),
  remove: removeSql(dialect),
  recover: recoverSql(dialect),
  count: countSql(dialect),
  purge: purgeSql(dialect, purgeBatch, 'FOR UPDATE SKIP LOCKED'),
};

export const statements = {
  /** Inserts nothing if the store is another one, or lacks the witness. */
  insert: (row: NewRow, store: string, witnessId: string | null): Statement => ({
    name: 'bankql insert',
    text: texts.insert,
    values: [...storable(insertedValues(row)), store, witnessId],
  }),
  recover: (row: NewRow, createdAt: number): Statement => ({
    text: texts.recover,
    values: [...storable(insertedValues(row)), createdAt],
  }),
  change: (id: string, version: string, change: RowChange | null): Statement =>
    change === null
      ? { name: 'bankql remove', text: texts.remove, values: [id, version] }
      : {
          name: 'bankql replace',
          text: texts.replace,
          values: storable(replacedValues(id, version, change)),
        },
  find: (id: string, witnessId: string | null): Statement => ({
    name: 'bankql find',
    text: texts.find,
    values: [id, witnessId],
  }),
  search: (query: RowQuery): Statement => {
    const { text, values } = searchSql(query, dialect);
    return { text, values: storable(values) };
  },
  count: (): Statement => ({ text: texts.count, values: [] }),
  purge: (before: number): Statement => ({ text: texts.purge, values: [before] }),
};
