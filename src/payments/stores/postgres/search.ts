import type { PaymentQuery } from '../../store.ts';
import type { Statement } from './connection.ts';
import { finished, unfinished } from './schema.ts';
import { nowSql, recordColumns } from './statements.ts';

/** Where a page ends, and the next one begins. */
export interface Place {
  readonly createdAt: number;
  readonly id: string;
}

export interface PageOptions {
  /** The caller's time, where it counts; see nowSql. */
  readonly now: number | null;
  readonly retentionMs: number;
  /** What the page comes after; null for the first one. */
  readonly after: Place | null;
  readonly size: number;
}

/** The highest character: no id that begins with a prefix comes behind the prefix and this. */
const last = '\u{10FFFF}';

/** A page of what a query asks for, as SQL. Finished records that have outlived the retention are left out. */
export function searchPage(query: PaymentQuery, { now, retentionMs, after, size }: PageOptions): Statement {
  const { states, idPrefix, caller, trackId, requestId, accountId, since, until, newestFirst } = query;
  const values: unknown[] = [now, retentionMs];
  const conditions = [`NOT (p.${finished} AND p.updated_at < clock.now - $2::bigint)`];
  /** Puts the values in the place of the question marks. */
  const ask = (condition: string, ...given: unknown[]) => {
    conditions.push(condition.replaceAll('?', () => `$${values.push(given.shift())}`));
  };
  if (idPrefix !== undefined) ask('p.id >= ? AND p.id < ?', idPrefix, idPrefix + last);
  if (trackId !== undefined) ask('p.track_id = ?', trackId);
  if (requestId !== undefined) ask('p.request_id = ?', requestId);
  if (caller !== undefined) ask('p.caller = ?', caller);
  if (states !== undefined) {
    ask('p.state = ANY (?::text[])', states);
    // The indexes of unfinished payments are for those that have their condition.
    if (!states.includes('DONE') && !states.includes('REJECTED')) conditions.push(`p.${unfinished}`);
  }
  if (accountId !== undefined) ask('(p.account_id = ? OR p.to_account_id = ?)', accountId, accountId);
  if (since !== undefined) ask('p.created_at >= ?::bigint', since);
  if (until !== undefined) ask('p.created_at < ?::bigint', until);
  const [direction, behind] = newestFirst ? ['DESC', '<'] : ['ASC', '>'];
  if (after !== null) ask(`(p.created_at, p.id) ${behind} (?::bigint, ?)`, after.createdAt, after.id);
  values.push(size);
  // Few records have the same beginning of an id, Track-ID or request. The sum keeps the server, which may not know that, from
  // going through all of them in their order.
  const few = [idPrefix, trackId, requestId].some((given) => given !== undefined);
  const time = few ? 'p.created_at + 0' : 'p.created_at';
  const text = `WITH clock AS (SELECT ${nowSql} AS now)
    SELECT ${recordColumns} FROM bankql.payment AS p, clock WHERE ${conditions.join(' AND ')}
    ORDER BY ${time} ${direction}, p.id ${direction} LIMIT $${values.length}`;
  return { text, values };
}
