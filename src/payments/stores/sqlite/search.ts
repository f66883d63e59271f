import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { PaymentQuery } from '../../store.ts';
import { unfinished } from './schema.ts';
import { expired } from './statements.ts';

export interface Search {
  readonly sql: string;
  readonly values: Record<string, string | number>;
}

/** The highest character: every id with a prefix sorts before the prefix followed by it. */
const last = '\u{10FFFF}';

/** A query as SQL. Finished records that were last changed before `before` are left out. */
export function searchSql(query: PaymentQuery, before: number): Search {
  const { states, idPrefix, caller, trackId, requestId, accountId, since, until, newestFirst, limit } = query;
  const values: Record<string, string | number> = { before };
  const conditions = [`NOT (${expired})`];
  const ask = (condition: string, given: Record<string, string | number>) => {
    conditions.push(condition);
    Object.assign(values, given);
  };
  if (idPrefix !== undefined) ask('id >= $idPrefix AND id < $idEnd', { idPrefix, idEnd: idPrefix + last });
  if (trackId !== undefined) ask('trackId = $trackId', { trackId });
  if (requestId !== undefined) ask('requestId = $requestId', { requestId });
  if (caller !== undefined) ask('caller = $caller', { caller });
  if (states !== undefined) {
    const names = states.map((_, n) => `$state${n}`);
    // An id, caller, request, Track-ID or unfinished state selects few records; a finished state selects many. SQLite
    // does not know that: the unary plus keeps it from using the states' index.
    const fewer = [idPrefix, trackId, requestId, caller].some((given) => given !== undefined);
    const many = states.some((state) => state === 'DONE' || state === 'REJECTED');
    // The partial index of unfinished payments is used only if the query contains its condition.
    if (caller !== undefined && !many) conditions.push(unfinished);
    const column = fewer || many ? '+state' : 'state';
    ask(
      `${column} IN (${names.join(', ')})`,
      Object.fromEntries(states.map((state, n) => [`state${n}`, state])),
    );
  }
  if (accountId !== undefined) ask('(accountId = $accountId OR toAccountId = $accountId)', { accountId });
  if (since !== undefined) ask('createdAt >= $since', { since });
  if (until !== undefined) ask('createdAt < $until', { until });
  const direction = newestFirst ? 'DESC' : 'ASC';
  const end = limit === undefined ? '' : ' LIMIT $limit';
  if (limit !== undefined) values.limit = limit;
  const sql = `SELECT * FROM payment WHERE ${conditions.join(' AND ')}
    ORDER BY createdAt ${direction}, id ${direction}${end}`;
  return { sql, values };
}

export function search(
  database: DatabaseSync,
  query: PaymentQuery,
  before: number,
): Record<string, SQLOutputValue>[] {
  const { sql, values } = searchSql(query, before);
  return database.prepare(sql).all(values);
}
