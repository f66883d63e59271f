import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { PaymentQuery } from '../../../../src/payments/store.ts';
import { searchSql } from '../../../../src/payments/stores/sqlite/search.ts';
import { createSqliteStore } from '../../../../src/payments/stores/sqlite/sqlite-store.ts';
import { done, pending, retentionMs, start } from '../store-conformance.ts';

const root = mkdtempSync(join(tmpdir(), 'bankql-sqlite-schema-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;

const open = (path: string) => createSqliteStore({ path, retentionMs, timeoutMs: 10_000 });

/** What version 1 made, and how it wrote. */
const version1 = `
  CREATE TABLE payment (
    id TEXT PRIMARY KEY, caller TEXT NOT NULL, fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN')),
    operation TEXT NOT NULL, bankId TEXT NOT NULL, accountId TEXT NOT NULL,
    toBankId TEXT, toAccountId TEXT, currency TEXT, amount TEXT,
    trackId TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, leaseUntil INTEGER NOT NULL,
    answer TEXT, code TEXT, status INTEGER, message TEXT, settledBy TEXT, awaited INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE INDEX paymentByState ON payment (state, updatedAt);
  PRAGMA user_version = 1;`;
const insertVersion1 = `INSERT INTO payment (id, caller, fingerprint, state, operation, bankId, accountId,
  toBankId, toAccountId, currency, amount, trackId, createdAt, updatedAt, leaseUntil, answer, code, status, message, settledBy)
  VALUES ($id, $caller, $fingerprint, $state, $operation, $bankId, $accountId, $toBankId, $toAccountId, $currency, $amount, $trackId,
  $createdAt, $updatedAt, $leaseUntil, $answer, $code, $status, $message, $settledBy)`;

const callerHash = createHash('sha256').update('["sandbox","alice"]').digest('hex');
const keyed = (secret: string) => createHmac('sha256', secret).update(callerHash).digest('hex');

function fieldsOfVersion1(change: Parameters<typeof pending>[0]) {
  const { bankText, requestId, replica, sealedKey, history, ...fields } = pending({
    caller: callerHash,
    ...change,
  });
  return fields;
}

/** A file of version 1, still open, with a PENDING, a DONE and a settled record. */
function makeVersion1(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; ${version1}`);
  const insert = database.prepare(insertVersion1);
  const end = { updatedAt: start + 9, status: 200 } as const;
  insert.run(fieldsOfVersion1({ id: 'a' }));
  insert.run(fieldsOfVersion1({ id: 'b', state: 'DONE', createdAt: start + 1, ...end, answer: '{}' }));
  insert.run(fieldsOfVersion1({ id: 'c', state: 'REJECTED', ...end, status: null, settledBy: 'Ada' }));
  return database;
}

describe('a file of version 1', () => {
  test('is upgraded with all that it holds; callers are hashed under its new secret, and known stories told', async () => {
    const path = join(root, `${++files}.db`);
    makeVersion1(path).close();
    const store = await open(path);
    const caller = keyed(store.secret);
    expect(store.loss).toBeNull();
    expect(await store.search({ caller }, start)).toEqual([
      pending({ id: 'a', caller, history: [{ state: 'PENDING', at: start }] }),
      pending({
        ...{ id: 'c', caller, state: 'REJECTED', updatedAt: start + 9, settledBy: 'Ada' },
        history: [
          { state: 'PENDING', at: start },
          { state: 'REJECTED', at: start + 9, settledBy: 'Ada' },
        ],
      }),
      pending({
        ...{ id: 'b', caller, state: 'DONE', createdAt: start + 1, updatedAt: start + 9 },
        ...{ status: 200, answer: '{}' },
        history: [
          { state: 'PENDING', at: start + 1 },
          { state: 'DONE', at: start + 9, status: 200 },
        ],
      }),
    ]);
    expect(await store.finish('a', pending().trackId, done, start)).toBe(true);
    await store.close();

    // Once: the next start finds nothing to do.
    const again = await open(path);
    expect(keyed(again.secret)).toBe(caller);
    expect(await again.search({ caller }, start)).toHaveLength(3);
    await again.close();
    using database = new DatabaseSync(path, { readOnly: true });
    expect(database.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: 2 });
    expect(database.prepare('SELECT began, newestAt FROM meta').get()).toEqual({
      began: 3,
      newestAt: start + 1,
    });
  });

  test('is upgraded once by the processes that open it at the same time', async () => {
    const path = join(root, `${++files}.db`);
    makeVersion1(path).close();
    const stores = await Promise.all([open(path), open(path), open(path)]);
    expect(new Set(stores.map(({ secret }) => secret)).size).toBe(1);
    expect(await stores[1].search({ caller: keyed(stores[0].secret) }, start)).toHaveLength(3);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('may still be in use by a bankql of version 1, whose payments count and are adopted later', async () => {
    const path = join(root, `${++files}.db`);
    const old = makeVersion1(path);
    const insert = old.prepare(insertVersion1);
    const first = await open(path);
    insert.run(fieldsOfVersion1({ id: 'd', createdAt: start + 50 }));
    expect(await first.begin(pending({ id: 'd', trackId: 'again' }), start)).toMatchObject({
      trackId: 'attempt-1',
    });
    await first.close();
    old.close();
    const second = await open(path);
    expect(await second.find('d', start)).toMatchObject({
      caller: keyed(second.secret),
      history: [{ state: 'PENDING', at: start + 50 }],
    });
    await second.close();
    using database = new DatabaseSync(path, { readOnly: true });
    expect(database.prepare('SELECT began, newestAt FROM meta').get()).toEqual({
      began: 4,
      newestAt: start + 50,
    });
  });

  test('with fewer columns than this version gets those that it lacks', async () => {
    const path = join(root, `${++files}.db`);
    await (await open(path)).close();
    const database = new DatabaseSync(path);
    database.exec('ALTER TABLE payment DROP COLUMN replica');
    database.close();
    const store = await open(path);
    await store.begin(pending({ replica: 'host:1' }), start);
    expect(await store.find(pending().id, start)).toMatchObject({ replica: 'host:1' });
    await store.close();
  });
});

describe('a search', () => {
  test.each<[string, PaymentQuery, string]>([
    [
      'a caller’s payments in some states',
      { caller: 'c', states: ['UNKNOWN', 'DONE'], newestFirst: true, limit: 20 },
      'paymentByCaller (caller=?)',
    ],
    [
      'a caller’s payments that are not finished',
      { caller: 'c', states: ['UNKNOWN', 'PENDING'], newestFirst: true, limit: 20 },
      'paymentUnfinished (caller=?)',
    ],
    [
      'a caller’s payments in one state that is not final, since a time',
      { caller: 'c', states: ['PENDING'], since: 5, limit: 20 },
      'paymentUnfinished (caller=? AND createdAt>?)',
    ],
    ['how an id begins', { idPrefix: 'abc' }, 'sqlite_autoindex_payment_1 (id>? AND id<?)'],
    [
      'how the id of an UNKNOWN payment begins',
      { idPrefix: 'abc', states: ['UNKNOWN'] },
      'sqlite_autoindex_payment_1 (id>? AND id<?)',
    ],
    ['a Track-ID', { trackId: 't', states: ['DONE'] }, 'paymentByTrackId (trackId=?)'],
    ['a request id', { requestId: 'r', states: ['DONE'] }, 'paymentByRequestId (requestId=?)'],
    ['a state', { states: ['UNKNOWN'] }, 'paymentByState (state=?)'],
    ['a state of many', { states: ['DONE'], newestFirst: true, limit: 5 }, 'paymentByTime'],
    [
      'a time',
      { since: 1, until: 2, newestFirst: true, limit: 5 },
      'paymentByTime (createdAt>? AND createdAt<?)',
    ],
    ['the newest', { newestFirst: true, limit: 5 }, 'paymentByTime'],
  ])('by %s uses an index', async (_, query, index) => {
    const path = join(root, `plan-${++files}.db`);
    await (await open(path)).close();
    using database = new DatabaseSync(path, { readOnly: true });
    const { sql, values } = searchSql(query, 0);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(values);
    const details = plan.map(({ detail }) => String(detail)).join('\n');
    expect(details).toContain(`payment USING INDEX ${index}`);
    expect(details).not.toMatch(/SCAN payment$/m);
  });
});
