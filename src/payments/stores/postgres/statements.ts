import { leaseEnded } from '../../store.ts';
import { columns, finished, tallySlots } from './schema.ts';

/** What is done with the tables of a payment store in PostgreSQL, one statement and so one transaction for each. */

/** The time, in milliseconds since 1970: $1, or the server's where that is null. */
export const nowSql = 'coalesce($1::bigint, floor(extract(epoch FROM now()) * 1000)::bigint)';
const clock = `clock AS (SELECT ${nowSql} AS now)`;

/** Each backend has its own row of the tally, most of the time. */
const slot = `slot = pg_backend_pid() % ${tallySlots}`;

const names = Object.values(columns);
/** What a record is read from. */
export const recordColumns = names.map((name) => `p.${name}`).join(', ');

/** A line of a record's history: `event` is JSON without its time, to which the time is added. */
const line = (event: string, at: string) => `chr(10) || '{"at":' || ${at} || ',' || substr(${event}, 2)`;

const endLease = `state = '${leaseEnded.state}', code = '${leaseEnded.code}', message = '${leaseEnded.message}',
  updated_at = clock.now, history = p.history || ${line(`'{"state":"${leaseEnded.state}"}'`, 'clock.now')}`;
const leaseIsOver = "p.state = 'PENDING' AND p.lease_until <= clock.now";

/** Finished, and last changed before the retention, of which the length is given. */
const outlived = (retention: string) => `(p.${finished} AND p.updated_at < clock.now - ${retention}::bigint)`;

/** The fields that a beginning gives as they are; the others are times, or the store's to say. */
export const givenFields = (Object.keys(columns) as (keyof typeof columns)[]).filter(
  (field) => !['createdAt', 'updatedAt', 'leaseUntil', 'history'].includes(field),
);
const given = givenFields.map((field) => columns[field]);
const writeAgain = `DO UPDATE SET track_id = excluded.track_id
      WHERE p.track_id = excluded.track_id AND p.awaited AND p.state = 'PENDING'`;
const typeOf = (name: string) => (name === 'status' ? 'integer' : 'text');

/**
 * $2: the store's id. $3: the event. $4, $5, $6: createdAt, updatedAt and leaseUntil, from now. From $7 on: the given fields, of
 * which the id is the first one, and the retention.
 * `again`: a connection was lost, and what this attempt has begun already is written once more, so that its commit is confirmed
 * as well. Otherwise a record that is there is not even locked: a payment that is asked for once more costs no commit.
 * Answers with no row where the store is another one; else with its loss, with when the payment began where it was stored, and
 * otherwise with the record that is there, unless it has to be changed first or has come meanwhile.
 */
const beginSql = (again: boolean) => `WITH ${clock},
  held AS (SELECT loss FROM bankql.store WHERE store_id = $2),
  begun AS (
    INSERT INTO bankql.payment AS p (created_at, updated_at, lease_until, history, ${given.join(', ')})
    SELECT now + $4::bigint, now + $5::bigint, now + $6::bigint, ${line('$3::text', '(now + $4::bigint)')},
      ${given.map((name, n) => `$${n + 7}::${typeOf(name)}`).join(', ')} FROM clock, held WHERE held.loss IS NULL
    ON CONFLICT (id) ${again ? writeAgain : 'DO NOTHING'}
    RETURNING p.created_at, p.xmax = 0 AS is_new),
  counted AS (
    UPDATE bankql.tally SET began = began + 1, newest_at = greatest(newest_at, begun.created_at)
    FROM begun WHERE begun.is_new AND ${slot})
  SELECT existing.*, held.loss, begun.created_at AS begun_at, tally.began + begun.is_new::int AS began,
    greatest(tally.newest_at, begun.created_at) AS newest_at,
    current_setting('synchronous_commit') AS "synchronousCommit",
    current_setting('synchronous_standby_names') AS "standbyNames"
  FROM held LEFT JOIN begun ON true LEFT JOIN (
      SELECT ${recordColumns} FROM bankql.payment AS p, clock
      WHERE p.id = $7 AND NOT (${leaseIsOver}) AND NOT ${outlived(`$${given.length + 7}`)}
    ) AS existing ON begun.created_at IS NULL,
    (SELECT sum(began) AS began, max(newest_at) AS newest_at FROM bankql.tally) AS tally`;

/**
 * $2: the id. $3: the retention. The record as it is now; no row where there is none. `stale`: its lease is over, and somebody
 * else changes it just now.
 */
const find = `WITH ${clock},
  ended AS (UPDATE bankql.payment AS p SET ${endLease} FROM clock WHERE p.id = $2 AND ${leaseIsOver}
    RETURNING ${recordColumns})
  SELECT p.*, false AS stale FROM ended AS p
  UNION ALL
  SELECT ${recordColumns}, ${leaseIsOver} FROM bankql.payment AS p, clock
  WHERE p.id = $2 AND NOT ${outlived('$3')} AND NOT EXISTS (SELECT FROM ended)`;

/** $2: the id. $3: the Track-ID. $4: the state. $5: the event. From $6 on: answer, code, status, message, bankText. */
const finish = `WITH ${clock}
  UPDATE bankql.payment AS p SET state = $4, answer = $6, code = $7, status = $8, message = $9, bank_text = $10,
    updated_at = clock.now, awaited = false, history = p.history || ${line('$5::text', 'clock.now')}
  FROM clock WHERE p.id = $2 AND p.track_id = $3 AND p.awaited RETURNING p.id`;

const countGone = `UPDATE bankql.tally SET gone = tally.gone + gone.count
  FROM (SELECT count(*) AS count FROM removed) AS gone WHERE gone.count > 0 AND ${slot}`;

/** $1: the id. $2: the Track-ID. $3: whether also after its lease. Answers with a row where it did. */
const release = `WITH removed AS (
    DELETE FROM bankql.payment WHERE id = $1 AND track_id = $2 AND awaited AND (state = 'PENDING' OR $3) RETURNING id),
  counted AS (${countGone})
  SELECT id FROM removed`;

/** $2: the id. $3: the state. $4: who settled it. $5: the event. */
const settle = `WITH ${clock}
  UPDATE bankql.payment AS p SET state = $3, code = NULL, message = NULL, settled_by = $4, updated_at = clock.now,
    awaited = false, history = p.history || CASE WHEN p.state = 'PENDING'
      THEN ${line(`'{"state":"${leaseEnded.state}"}'`, 'clock.now')} ELSE '' END || ${line('$5::text', 'clock.now')}
  FROM clock WHERE p.id = $2 AND p.settled_by IS NULL AND (p.state = 'UNKNOWN' OR (${leaseIsOver})) RETURNING p.id`;

/** How many rows one statement changes at most, so that none takes long. */
export const batch = 500;

/** Ends leases that are over: all, where it answers with fewer rows than a batch. */
const endLeases = `WITH ${clock},
  due AS (SELECT p.id FROM bankql.payment AS p, clock WHERE ${leaseIsOver} LIMIT ${batch} FOR UPDATE OF p SKIP LOCKED)
  UPDATE bankql.payment AS p SET ${endLease} FROM clock, due WHERE p.id = due.id RETURNING p.id`;

/** $2: the retention. $3: an id, or null for any. Deletes what has outlived it; `tally` follows. */
const forget = `WITH ${clock},
  due AS (SELECT p.id FROM bankql.payment AS p, clock
    WHERE ${outlived('$2')} AND ($3::text IS NULL OR p.id = $3) LIMIT ${batch} FOR UPDATE OF p SKIP LOCKED),
  removed AS (DELETE FROM bankql.payment AS p USING due WHERE p.id = due.id RETURNING p.id),
  counted AS (${countGone})
  SELECT id FROM removed`;

/** More outlived records than this are not counted one by one. */
const maxCounted = 100_000;

/** $2: the retention. What StoreStatus says, and besides `loss` and the number of outlived records that are still there. */
const status = `WITH ${clock},
  tally AS (SELECT sum(began) - sum(gone) AS kept FROM bankql.tally),
  old AS (SELECT count(*) AS count FROM (
    SELECT FROM bankql.payment AS p, clock WHERE ${outlived('$2')} LIMIT ${maxCounted}) AS counted),
  ended AS (SELECT count(*) AS count FROM bankql.payment AS p, clock WHERE ${leaseIsOver})
  SELECT greatest(tally.kept - old.count, 0) AS records, old.count AS expired,
    (SELECT count(*) FROM bankql.payment WHERE state = 'PENDING') - ended.count AS pending,
    (SELECT count(*) FROM bankql.payment WHERE state = 'UNKNOWN') + ended.count AS unknown,
    (SELECT p.created_at FROM bankql.payment AS p, clock WHERE NOT ${outlived('$2')}
      ORDER BY p.created_at DESC LIMIT 1) AS "newestAt",
    (SELECT loss FROM bankql.store) AS loss
  FROM tally, old, ended`;

const named = (name: string, text: string) => (values: readonly unknown[]) => ({
  name: `bankql ${name}`,
  text,
  values,
});

export const statements = {
  begin: named('begin', beginSql(false)),
  beginAgain: named('beginAgain', beginSql(true)),
  find: named('find', find),
  finish: named('finish', finish),
  release: named('release', release),
  settle: named('settle', settle),
  endLeases: named('endLeases', endLeases),
  forget: named('forget', forget),
  status: named('status', status),
};
