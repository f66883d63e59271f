import type { DatabaseSync } from 'node:sqlite';
import { leaseEnded } from './store.ts';

/** The tables of the payment store's SQLite file, and what is done with them. For sqlite-worker.ts. */

export const schemaVersion = 1;

/** The columns bear the names of PaymentRecord's fields; `awaited`: its attempt may still say how it ended. */
export const schema = `
  CREATE TABLE payment (
    id TEXT PRIMARY KEY, caller TEXT NOT NULL, fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN')),
    operation TEXT NOT NULL, bankId TEXT NOT NULL, accountId TEXT NOT NULL,
    toBankId TEXT, toAccountId TEXT, currency TEXT, amount TEXT,
    trackId TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, leaseUntil INTEGER NOT NULL,
    answer TEXT, code TEXT, status INTEGER, message TEXT, settledBy TEXT,
    bankText TEXT, requestId TEXT, replica TEXT, sealedKey TEXT, history TEXT NOT NULL, awaited INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE INDEX paymentByState ON payment (state, updatedAt);
  PRAGMA user_version = ${schemaVersion};`;

const outlived = `state IN ('DONE', 'REJECTED') AND updatedAt < $before`;
const endLease = `UPDATE payment SET state = '${leaseEnded.state}', code = '${leaseEnded.code}',
  message = '${leaseEnded.message}', updatedAt = $now,
  history = history || char(10) || $event WHERE state = 'PENDING' AND leaseUntil <= $now`;

export function prepareStatements(database: DatabaseSync) {
  return {
    insert:
      database.prepare(`INSERT INTO payment (id, caller, fingerprint, state, operation, bankId, accountId,
      toBankId, toAccountId, currency, amount, trackId, createdAt, updatedAt, leaseUntil, answer, code, status, message, settledBy, bankText, requestId, replica, sealedKey, history)
      VALUES ($id, $caller, $fingerprint, $state, $operation, $bankId, $accountId, $toBankId, $toAccountId, $currency, $amount, $trackId,
      $createdAt, $updatedAt, $leaseUntil, $answer, $code, $status, $message, $settledBy,
      $bankText, $requestId, $replica, $sealedKey, $history)`),
    read: database.prepare('SELECT * FROM payment WHERE id = $id'),
    list: database.prepare(`SELECT * FROM payment WHERE NOT (${outlived})`),
    endLease: database.prepare(`${endLease} AND id = $id`),
    endLeases: database.prepare(endLease),
    forget: database.prepare(`DELETE FROM payment WHERE id = $id AND ${outlived}`),
    purge: database.prepare(
      `DELETE FROM payment WHERE id IN (SELECT id FROM payment WHERE ${outlived} LIMIT 500)`,
    ),
    finish:
      database.prepare(`UPDATE payment SET state = $state, answer = $answer, code = $code, status = $status,
      message = $message, bankText = $bankText, updatedAt = $now, awaited = 0,
      history = history || char(10) || $event WHERE id = $id AND trackId = $trackId AND awaited = 1`),
    reopen: database.prepare(
      `DELETE FROM payment WHERE id = $id AND trackId = $trackId AND state = 'PENDING'`,
    ),
    settle: database.prepare(`UPDATE payment SET state = $state, code = NULL, message = NULL,
      settledBy = $settledBy, updatedAt = $now, awaited = 0,
      history = history || char(10) || $event WHERE id = $id AND state = 'UNKNOWN' AND settledBy IS NULL`),
  };
}
