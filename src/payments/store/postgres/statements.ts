import { z } from 'zod';
import { type NewRow, type RowChange, type RowQuery, storedRow } from '../driver.ts';
import {
  changedColumns,
  changeTime,
  countSql,
  type Dialect,
  expired,
  givenColumns,
  insertedTimes,
  searchSql,
  storedColumns,
  timeColumns,
} from '../payment-columns.ts';
import { standbysConfirm } from './server.ts';

/** The statements of the payment store. Each is a transaction of its own. */

export interface Statement {
  readonly text: string;
  /** The name under which each connection prepares the statement once. */
  readonly name?: string;
  readonly values: unknown[];
}

const purgeBatch = 500;

/** PostgreSQL's text takes every character but one, which no meaningful name or amount contains. */
const storable = (value: string | null) => value?.replaceAll('\0', '\u2400') ?? null;

/** A row that was found. `is_witnessed`: false if the store lacks the witness. */
export const foundRow = storedRow.extend({ is_witnessed: z.boolean() });

/** The change that compareAndSet makes to a row. */
export interface Change {
  readonly id: string;
  readonly version: string;
  readonly change: RowChange | null;
}

export function statementsFor(dialect: Dialect) {
  const { table, now } = dialect;
  const stored = storedColumns(now);
  const given = givenColumns.join(', ');
  const arrays = (count: number) => Array.from({ length: count }, (_, n) => `$${n + 1}::text[]`).join(', ');
  const leaseMs = givenColumns.length + 1;
  const [storeId, witness] = [leaseMs + 1, leaseMs + 2];
  /** Whether the witness is there, if there is one. `number`: of its parameter. */
  const isWitnessed = (number: number) =>
    `($${number}::text IS NULL OR EXISTS (SELECT FROM ${table} WHERE id = $${number}))`;
  // In the order of their ids, so that two processes never wait for each other's rows.
  const insert = (onConflict: string) => `WITH inserted AS (
      INSERT INTO ${table} (${given}, ${timeColumns.join(', ')})
      SELECT ${[...givenColumns.map((name) => `given.${name}`), ...insertedTimes(now, 'given.lease_ms')].join(', ')}
      FROM unnest(${arrays(givenColumns.length)}, $${leaseMs}::bigint[]) AS given (${given}, lease_ms), bankql.store
      WHERE store.id = $${storeId} AND store.loss IS NULL AND store.standbys_confirm = ${standbysConfirm}
        AND ${isWitnessed(witness)} ORDER BY given.id
      ON CONFLICT (id) DO ${onConflict} RETURNING ${stored})
    SELECT *, true AS is_witnessed FROM inserted UNION ALL
    SELECT ${stored}, ${isWitnessed(witness)} FROM ${table} WHERE id = ANY($1::text[]) AND id NOT IN (SELECT id FROM inserted)`;
  const changed = [
    ...changedColumns.map((name) => `${name} = given.${name}`),
    `updated_at = ${changeTime(dialect, 'given.state')}`,
  ].join(', ');
  const change = `WITH given AS (
      SELECT * FROM unnest(${arrays(2 + changedColumns.length)}) AS given (id, expected, ${changedColumns.join(', ')})),
    replaced AS (
      UPDATE ${table} SET ${changed} FROM given
      WHERE payment.id = given.id AND payment.version = given.expected AND given.version IS NOT NULL RETURNING payment.version),
    removed AS (
      DELETE FROM ${table} USING given
      WHERE payment.id = given.id AND payment.version = given.expected AND given.version IS NULL RETURNING payment.version)
    SELECT version FROM replaced UNION ALL SELECT version FROM removed`;
  const texts = {
    insert: insert('NOTHING'),
    // A row that was stored already is written once more, so that standbys confirm it.
    insertAgain: insert('UPDATE SET version = excluded.version WHERE payment.version = excluded.version'),
  };

  const recover = `INSERT INTO ${table} (${given}, ${timeColumns.join(', ')})
    VALUES (${givenColumns.map((_, n) => `$${n + 1}`).join(', ')}, $${leaseMs}::bigint, ${now}, ${now} + $${leaseMs + 1}::bigint)
    ON CONFLICT (id) DO NOTHING RETURNING id`;

  return {
    /** Inserts nothing if it is another store, or one that lacks the witness. */
    insert: (
      rows: readonly NewRow[],
      store: string,
      witnessId: string | null,
      isAgain: boolean,
    ): Statement => ({
      name: isAgain ? 'bankql insert again' : 'bankql insert',
      text: isAgain ? texts.insertAgain : texts.insert,
      values: [
        ...givenColumns.map((name) => rows.map((row) => storable(row[name]))),
        rows.map((row) => row.lease_ms),
        store,
        witnessId,
      ],
    }),
    recover: (row: NewRow, createdAt: number): Statement => ({
      text: recover,
      values: [...givenColumns.map((name) => storable(row[name])), createdAt, row.lease_ms],
    }),
    change: (changes: readonly Change[]): Statement => ({
      name: 'bankql change',
      text: change,
      values: [
        changes.map(({ id }) => id),
        changes.map(({ version }) => version),
        ...changedColumns.map((name) => changes.map((each) => storable(each.change?.[name] ?? null))),
      ],
    }),
    find: (id: string, witnessId: string | null): Statement => ({
      name: 'bankql find',
      text: `SELECT ${stored}, ${isWitnessed(2)} AS is_witnessed FROM ${table} WHERE id = $1`,
      values: [id, witnessId],
    }),
    search: (query: RowQuery): Statement => {
      const { text, values } = searchSql(query, dialect);
      return { text, values: values.map((value) => (typeof value === 'string' ? storable(value) : value)) };
    },
    count: { text: countSql(dialect), values: [] },
    purge: (before: number): Statement => ({
      text: `DELETE FROM ${table} WHERE id IN (
        SELECT id FROM ${table} WHERE ${expired('$1')} LIMIT ${purgeBatch} FOR UPDATE SKIP LOCKED)`,
      values: [before],
    }),
  };
}
