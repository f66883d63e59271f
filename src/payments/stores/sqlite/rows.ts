import type { DatabaseSync } from 'node:sqlite';
import type { NewRow, RowChange, RowQuery } from '../../driver.ts';
import {
  changedColumns,
  countSql,
  type Dialect,
  expired,
  givenColumns,
  insertedTimes,
  searchSql,
  sqliteNow,
  storedColumns,
  timeColumns,
} from '../payment-columns.ts';

/** How long a payment may wait for a purge's deletions, not counting the commit. */
const purgeStepMs = 10;

/** The driver's statements on an open database. Errors: any of SQLite's. */
export type RowMethods = ReturnType<typeof rowMethods>;

/** `now`: an expression for the time, if it is not SQLite's. */
export function rowMethods(database: DatabaseSync, retentionMs: number, now = sqliteNow) {
  const dialect: Dialect = { table: 'payment', mark: '?', now, retentionMs };
  const stored = storedColumns(now);
  const given = givenColumns.map((name) => `$${name}`).join(', ');
  const insertWith = (times: readonly string[]) =>
    database.prepare(
      `INSERT INTO payment (${[...givenColumns, ...timeColumns].join(', ')}) VALUES (${given}, ${times.join(', ')})
        ON CONFLICT DO NOTHING RETURNING ${stored}`,
    );
  const insert = insertWith(insertedTimes(now, '$lease_ms'));
  const recover = insertWith(['$created_at', now, `${now} + $lease_ms`]);
  const find = database.prepare(`SELECT ${stored} FROM payment WHERE id = ?`);
  const changes = changedColumns.map((name) => `${name} = $${name}`).join(', ');
  const replace = database.prepare(
    `UPDATE payment SET ${changes}, updated_at = ${now} WHERE id = $id AND version = $expected`,
  );
  const remove = database.prepare('DELETE FROM payment WHERE id = ? AND version = ?');
  const purge = database.prepare(
    `DELETE FROM payment WHERE id IN (SELECT id FROM payment WHERE ${expired(dialect)} LIMIT 100)`,
  );
  const count = database.prepare(countSql(dialect));
  return {
    insert: (row: NewRow): unknown => insert.get({ ...row }) ?? find.get(row.id),
    recover: (row: NewRow, createdAt: number): boolean =>
      recover.get({ ...row, created_at: createdAt }) !== undefined,
    compareAndSet(id: string, expected: string, change: RowChange | null): boolean {
      const { changes } =
        change === null ? remove.run(id, expected) : replace.run({ ...change, id, expected });
      return Number(changes) === 1;
    },
    find: (id: string): unknown => find.get(id) ?? null,
    count: (): unknown => count.get(),
    purge(): number {
      const until = performance.now() + purgeStepMs;
      for (let deleted = 0; ; ) {
        const step = Number(purge.run().changes);
        deleted += step;
        if (step === 0 || performance.now() >= until) return deleted;
      }
    },
    search(query: RowQuery): unknown[] {
      const { text, values } = searchSql(query, dialect);
      return database.prepare(text).all(...values);
    },
  };
}
