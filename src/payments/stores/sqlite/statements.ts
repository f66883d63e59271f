import type { DatabaseSync } from 'node:sqlite';
import { leaseEnded } from '../../store.ts';
import { columns } from './schema.ts';

/** What is done with the tables of the payment store's SQLite file, searches apart (search.ts). */

const fields = Object.keys(columns);

/** Finished, and last changed before the retention began. */
export const expired = `state IN ('DONE', 'REJECTED') AND updatedAt < $before`;

const endLease = `UPDATE payment SET state = '${leaseEnded.state}', code = '${leaseEnded.code}',
  message = '${leaseEnded.message}', updatedAt = $now,
  history = history || char(10) || $event WHERE state = 'PENDING' AND leaseUntil <= $now`;

/** How many records there are that are not expired, and of which state; see StoreStatus. */
export const statusSql = `SELECT
  (SELECT count(*) FROM payment) - (SELECT count(*) FROM payment WHERE ${expired}) AS records,
  (SELECT count(*) FROM payment WHERE state = 'PENDING') AS pending,
  (SELECT count(*) FROM payment WHERE state = 'UNKNOWN') AS unknown,
  (SELECT createdAt FROM payment WHERE NOT (${expired}) ORDER BY createdAt DESC LIMIT 1) AS newestAt`;

export function prepareStatements(database: DatabaseSync) {
  return {
    insert: database.prepare(
      `INSERT INTO payment (${fields.join(', ')}) VALUES (${fields.map((field) => `$${field}`).join(', ')})`,
    ),
    read: database.prepare('SELECT * FROM payment WHERE id = $id'),
    endLease: database.prepare(`${endLease} AND id = $id`),
    endLeases: database.prepare(endLease),
    leaseEnded: database.prepare(
      "SELECT 1 FROM payment WHERE state = 'PENDING' AND leaseUntil <= $now LIMIT 1",
    ),
    forget: database.prepare(`DELETE FROM payment WHERE id = $id AND ${expired}`),
    purge: database.prepare(
      `DELETE FROM payment WHERE id IN (SELECT id FROM payment WHERE ${expired} LIMIT 100)`,
    ),
    countExpired: database.prepare(`SELECT count(*) AS n FROM payment WHERE ${expired}`),
    count: database.prepare('SELECT count(*) AS n FROM (SELECT 1 FROM payment LIMIT $limit)'),
    finish:
      database.prepare(`UPDATE payment SET state = $state, answer = $answer, code = $code, status = $status,
      message = $message, bankText = $bankText, updatedAt = $now, awaited = 0,
      history = history || char(10) || $event WHERE id = $id AND trackId = $trackId AND awaited = 1`),
    release: database.prepare(
      `DELETE FROM payment WHERE id = $id AND trackId = $trackId
      AND awaited = 1 AND (state = 'PENDING' OR $afterLease)`,
    ),
    settle: database.prepare(`UPDATE payment SET state = $state, code = NULL, message = NULL,
      settledBy = $settledBy, updatedAt = $now, awaited = 0,
      history = history || char(10) || $event WHERE id = $id AND state = 'UNKNOWN' AND settledBy IS NULL`),
    meta: database.prepare('SELECT storeId, secret, began, newestAt FROM meta'),
    setMark: database.prepare('UPDATE meta SET storeId = $storeId, began = $began, newestAt = $newestAt'),
    decide: database.prepare('INSERT INTO decision (at, decidedBy, what) VALUES ($at, $by, $what)'),
    clocks: database.prepare('SELECT id, time, beats FROM clock'),
    beat: database.prepare(`INSERT INTO clock (id, time, beats) VALUES ($id, $time, $beats)
      ON CONFLICT (id) DO UPDATE SET time = $time, beats = $beats`),
    leave: database.prepare('DELETE FROM clock WHERE id = $id'),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
