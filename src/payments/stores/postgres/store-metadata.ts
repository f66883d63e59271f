import { z } from 'zod';
import { describeLoss, type HighWaterMark } from '../high-water-mark.ts';
import type { KeptMarks } from '../known-marks.ts';
import { type PostgresConnection, ServerRefused } from './connection.ts';
import { nowSql } from './statements.ts';

/** What a store knows of itself. */
export interface StoreMetadata {
  readonly secret: string;
  /** Why payments are refused, for all that share the store. */
  readonly loss: string | null;
  /** What was begun in it. */
  readonly held: HighWaterMark;
}

const time = z.coerce.number().nullable();
const metadata = z.object({
  store_id: z.string(),
  secret: z.string(),
  loss: z.string().nullable(),
  loss_accepted_at: time,
  began: z.coerce.number(),
  newest_at: time,
  accepted: z.array(z.string()),
});

const readMetadata = `SELECT store_id, secret, loss, loss_accepted_at, tally.began, tally.newest_at,
    ARRAY(SELECT store_id FROM bankql.missed_mark WHERE accepted_by IS NOT NULL) AS accepted
  FROM bankql.store, (SELECT sum(began) AS began, max(newest_at) AS newest_at FROM bankql.tally) AS tally`;

/** Of beginnings those that are missing: not of what began before a loss was accepted, nor of what may have outlived the retention. */
const findMissing = `WITH clock AS (SELECT ${nowSql} AS now)
  SELECT known.id, known.track_id, known.created_at FROM clock, unnest($2::text[], $3::text[], $4::bigint[]) AS known (id, track_id, created_at)
  WHERE known.created_at > $5::bigint AND known.created_at >= clock.now - $6::bigint AND NOT EXISTS (
    SELECT FROM bankql.payment WHERE payment.id = known.id AND payment.track_id = known.track_id)`;

/** The highest mark that anybody noted stays. */
const noteLoss = `WITH noted AS (UPDATE bankql.store SET loss = $1 WHERE store_id = $2)
  INSERT INTO bankql.missed_mark AS known (store_id, began, newest_at)
  SELECT store_id, max(began), max(newest_at)
  FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS missed (store_id, began, newest_at) GROUP BY store_id
  ON CONFLICT (store_id) DO UPDATE SET began = greatest(known.began, excluded.began),
    newest_at = greatest(known.newest_at, excluded.newest_at), accepted_by = NULL`;

/** What was missed of this very store counts as begun, and gone, from now on, so that the marks fit. */
const accept = `WITH clock AS (SELECT ${nowSql} AS now),
  held AS (SELECT sum(began)::bigint AS began, max(newest_at) AS newest_at FROM bankql.tally),
  own AS (DELETE FROM bankql.missed_mark WHERE store_id = $2 RETURNING began, newest_at),
  others AS (UPDATE bankql.missed_mark SET accepted_by = $3 WHERE store_id <> $2 AND accepted_by IS NULL),
  raised AS (
    UPDATE bankql.tally SET began = tally.began + greatest(own.began - held.began, 0),
      gone = tally.gone + greatest(own.began - held.began, 0), newest_at = greatest(tally.newest_at, own.newest_at)
    FROM held, own WHERE slot = 0),
  accepted AS (
    UPDATE bankql.store SET loss = NULL, loss_accepted_by = $3, loss_accepted_at = clock.now FROM clock)
  SELECT greatest(held.began, own.began) AS began, greatest(held.newest_at, own.newest_at) AS newest_at
  FROM held LEFT JOIN own ON true`;

export interface MetadataOptions {
  readonly kept: KeptMarks;
  /** The latest beginnings, as this process knows them by then. */
  readonly recall: () => KeptMarks['begins'];
  readonly retentionMs: number;
  /** The caller's time, where it counts; see nowSql. */
  readonly now: number | null;
}

/**
 * What the store knows of itself. Where a mark does not fit, or a beginning is missing, that is noted in the store: `begin` then
 * fails in all processes until somebody accepts it.
 *
 * The marks have to be read before: while others begin payments, the store goes ahead of them, never they of it.
 * Errors: those of PostgresConnection.query; ServerRefused.
 */
export async function readStoreMetadata(
  connection: PostgresConnection,
  { kept: { marks, begins }, recall, retentionMs, now }: MetadataOptions,
): Promise<StoreMetadata> {
  const { rows } = await connection.query({ text: readMetadata });
  const { data } = metadata.safeParse(rows[0]);
  if (data === undefined) throw new ServerRefused('it has lost its records: bankql.store is empty');
  const held = { storeId: data.store_id, began: data.began, newestAt: data.newest_at };
  const missed = marks
    .filter(({ mark }) => !data.accepted.includes(mark.storeId))
    .map(({ where, mark }) => ({ mark, loss: describeLoss(held, mark, where) }))
    .filter(({ loss }) => loss !== null);
  const loss = missed[0]?.loss ?? (await missingBegins()) ?? data.loss;
  if (loss !== null && loss !== data.loss) {
    const columns = [
      missed.map(({ mark }) => mark.storeId),
      missed.map(({ mark }) => mark.began),
      missed.map(({ mark }) => mark.newestAt),
    ];
    await connection.query({ text: noteLoss, values: [loss, held.storeId, ...columns] });
  }
  return { secret: data.secret, loss, held };

  /** What is missing of the beginnings that this process saw confirmed, in one sentence; null where nothing is. */
  async function missingBegins(): Promise<string | null> {
    if (begins.length === 0) return null;
    const known = [
      begins.map(({ id }) => id),
      begins.map(({ trackId }) => trackId),
      begins.map((begin) => begin.createdAt),
    ];
    const values = [now, ...known, data?.loss_accepted_at ?? -1, retentionMs];
    const answer = await connection.query({ text: findMissing, values });
    // What this process has taken back meanwhile is no loss: it forgets a beginning before it deletes it. The payment's id alone
    // does not tell: it may have begun again since, as another attempt.
    const still = new Set(recall().map(({ id, trackId }) => `${id} ${trackId}`));
    const missing = z
      .array(z.object({ id: z.string(), track_id: z.string(), created_at: z.coerce.number() }))
      .parse(answer.rows)
      .filter(({ id, track_id: trackId }) => still.has(`${id} ${trackId}`));
    if (missing.length === 0) return null;
    const since = Math.min(...missing.map((begin) => begin.created_at));
    return `it has lost records: of the latest ${begins.length} payments of this process ${missing.length} are missing, the first of ${new Date(since).toISOString()}`;
  }
}

/** Goes on without what is lost. Shape: the store's high-water mark from then on. Errors: those of PostgresConnection.query. */
export async function acceptMissing(
  connection: PostgresConnection,
  { storeId, acceptedBy, now }: { storeId: string; acceptedBy: string; now: number | null },
): Promise<HighWaterMark> {
  const { rows } = await connection.query({ text: accept, values: [now, storeId, acceptedBy] });
  const { began, newest_at } = z.object({ began: z.coerce.number(), newest_at: time }).parse(rows[0]);
  return { storeId, began, newestAt: newest_at };
}
