import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { PaymentQuery } from '../../../../src/payments/store.ts';
import { searchSql } from '../../../../src/payments/stores/payment-columns.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openSqlite as open } from '../opened-stores.ts';
import { done, pending, start } from '../store-conformance.ts';

const root = testFolder();
let files = 0;

/** What bankql 0.2.0 made. */
const version2 = `
  CREATE TABLE payment (
    id TEXT PRIMARY KEY, caller TEXT NOT NULL, fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN')),
    operation TEXT NOT NULL, bankId TEXT NOT NULL, accountId TEXT NOT NULL,
    toBankId TEXT, toAccountId TEXT, currency TEXT, amount TEXT,
    trackId TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, leaseUntil INTEGER NOT NULL,
    answer TEXT, code TEXT, status INTEGER, message TEXT, settledBy TEXT,
    bankText TEXT, requestId TEXT, replica TEXT, sealedKey TEXT, history TEXT NOT NULL DEFAULT '',
    awaited INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE INDEX paymentByState ON payment (state, updatedAt);
  CREATE TABLE meta (
    only INTEGER PRIMARY KEY CHECK (only = 1), storeId TEXT NOT NULL, secret TEXT NOT NULL,
    began INTEGER NOT NULL, newestAt INTEGER
  ) STRICT;
  CREATE TABLE decision (at INTEGER NOT NULL, decidedBy TEXT NOT NULL, what TEXT NOT NULL) STRICT;
  CREATE TABLE clock (id TEXT PRIMARY KEY, time INTEGER NOT NULL, beats INTEGER NOT NULL) STRICT;
  CREATE INDEX paymentByTime ON payment (createdAt);
  CREATE INDEX paymentByCaller ON payment (caller, createdAt);
  CREATE INDEX paymentByTrackId ON payment (trackId);
  CREATE INDEX paymentByRequestId ON payment (requestId) WHERE requestId IS NOT NULL;
  CREATE INDEX paymentOfVersion1 ON payment (id) WHERE history = '';
  CREATE TRIGGER countBegun AFTER INSERT ON payment BEGIN
    UPDATE meta SET began = began + 1, newestAt = max(ifnull(newestAt, NEW.createdAt), NEW.createdAt);
  END;
  CREATE INDEX paymentUnfinished ON payment (caller, createdAt) WHERE state IN ('PENDING', 'UNKNOWN');
  INSERT INTO meta VALUES (1, 'store-1', 'abcd', 7, NULL);
  INSERT INTO decision VALUES (5, 'Ada', 'accepted the loss of records');
  PRAGMA user_version = 2;`;

const line = (event: object) => JSON.stringify(event);

/** A file of bankql 0.2.0 with a payment in each state, and one of which the lease has ended. */
function makeVersion2(path: string): void {
  using database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; ${version2}`);
  const { payer: _, description: __, ...fields } = pending();
  const names = Object.keys(fields);
  const insert = database.prepare(
    `INSERT INTO payment (${names.join(', ')}, awaited) VALUES (${names.map((name) => `$${name}`).join(', ')}, $awaited)`,
  );
  const began = line({ state: 'PENDING', at: start });
  const end = (state: string) => `${began}\n${line({ state, at: start + 9, code: 'é"\n' })}`;
  const rows = [
    { id: 'pending', history: began, awaited: 1 },
    {
      id: 'done',
      state: 'DONE',
      updatedAt: start + 9,
      status: 200,
      answer: '{"id":"1"}',
      history: end('DONE'),
      awaited: 0,
    },
    {
      id: 'rejected',
      state: 'REJECTED',
      updatedAt: start + 9,
      bankText: 'a\n"b',
      history: end('REJECTED'),
      awaited: 0,
    },
    { id: 'unknown', state: 'UNKNOWN', updatedAt: start + 9, history: end('UNKNOWN'), awaited: 0 },
    { id: 'lease', state: 'UNKNOWN', updatedAt: start + 9, history: end('UNKNOWN'), awaited: 1 },
  ];
  for (const row of rows) insert.run({ ...fields, createdAt: start, ...row });
}

describe('a file of bankql 0.2.0', () => {
  test('is upgraded with all that it holds: no key of it becomes free', async () => {
    const path = join(root, `${++files}.db`);
    makeVersion2(path);
    const store = await open(path);
    expect(store.loss).toBeNull();
    expect(store.secret).toBe('abcd');
    const history = (state: string) => [
      { state: 'PENDING', at: start },
      { state, at: start + 9, code: 'é"\n' },
    ];
    const was = { payer: null, updatedAt: start + 9 } as const;
    const kept = [
      pending({ id: 'pending', payer: null, history: [{ state: 'PENDING', at: start }] }),
      {
        ...pending({ ...was, id: 'done', state: 'DONE', status: 200, answer: '{"id":"1"}' }),
        history: history('DONE'),
      },
      {
        ...pending({ ...was, id: 'rejected', state: 'REJECTED', bankText: 'a\n"b' }),
        history: history('REJECTED'),
      },
      { ...pending({ ...was, id: 'unknown', state: 'UNKNOWN' }), history: history('UNKNOWN') },
      { ...pending({ ...was, id: 'lease', state: 'UNKNOWN' }), history: history('UNKNOWN') },
    ];
    for (const record of kept)
      expect(await store.begin(pending({ id: record.id, trackId: 'again' }), start)).toEqual({
        ...record,
        description: null,
      });
    expect(await store.search({ caller: pending().caller, payer: 'anything' }, start)).toHaveLength(5);
    const { trackId } = pending();
    expect(await store.end({ id: 'pending', trackId, outcome: done, at: start })).toBe(true);
    expect(await store.end({ id: 'unknown', trackId, outcome: done, at: start })).toBe(false);
    expect(await store.end({ id: 'lease', trackId, outcome: done, at: start })).toBe(true);
    await store.close();

    using database = new DatabaseSync(path, { readOnly: true });
    const meta = database.prepare('SELECT began, text FROM meta').get();
    expect(meta?.began).toBe(12);
    expect(JSON.parse(String(meta?.text))).toMatchObject({
      storeId: 'store-1',
      decisions: [{ at: 5, by: 'Ada', what: 'accepted the loss of records' }],
    });
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 });
  });

  test('is upgraded once by the processes that open it at the same time', async () => {
    const path = join(root, `${++files}.db`);
    makeVersion2(path);
    const stores = await Promise.all([open(path), open(path), open(path)]);
    expect(await stores[1].search({}, start)).toHaveLength(5);
  });
});

test('a file of bankql 0.1 is refused, with the version that upgrades it', async () => {
  const path = join(root, `${++files}.db`);
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE payment (id TEXT); PRAGMA user_version = 1');
  database.close();
  await expect(open(path)).rejects.toThrow('start bankql 0.2.0 with it once, which upgrades it');
});

describe('a search', () => {
  test.each<[string, PaymentQuery, string]>([
    [
      'a caller’s payments in some states',
      { caller: 'c', payer: 'p', states: ['UNKNOWN', 'DONE'], newestFirst: true, limit: 20 },
      'payment_by_caller (caller=? AND payer=?)',
    ],
    [
      'a caller’s payments that are not finished',
      { caller: 'c', payer: 'p', states: ['UNKNOWN', 'PENDING'], newestFirst: true, limit: 20 },
      'payment_unfinished_by_caller (caller=? AND payer=?)',
    ],
    [
      'a caller’s payments in one state that is not final, since a time',
      { caller: 'c', payer: 'p', states: ['PENDING'], since: 5, limit: 20 },
      'payment_unfinished_by_caller (caller=? AND payer=? AND created_at>?)',
    ],
    ['how an id begins', { idPrefix: 'abc' }, 'sqlite_autoindex_payment_1 (id>? AND id<?)'],
    [
      'how the id of an UNKNOWN payment begins',
      { idPrefix: 'abc', states: ['UNKNOWN'] },
      'sqlite_autoindex_payment_1 (id>? AND id<?)',
    ],
    ['a Track-ID', { trackId: 't', states: ['DONE'] }, 'payment_by_track_id (track_id=?)'],
    ['a request id', { requestId: 'r', states: ['DONE'] }, 'payment_by_request_id (request_id=?)'],
    ['a state', { states: ['UNKNOWN'] }, 'payment_unfinished (state=?)'],
    ['a state of many', { states: ['DONE'], newestFirst: true, limit: 5 }, 'payment_by_time'],
    [
      'a time',
      { since: 1, until: 2, newestFirst: true, limit: 5 },
      'payment_by_time (created_at>? AND created_at<?)',
    ],
    ['the newest', { newestFirst: true, limit: 5 }, 'payment_by_time'],
  ])('by %s uses an index', async (_, query, index) => {
    const path = join(root, `plan-${++files}.db`);
    await (await open(path)).close();
    using database = new DatabaseSync(path, { readOnly: true });
    const { text, values } = searchSql({ limit: 20, ...query }, '?', 'payment');
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[]));
    const details = plan.map(({ detail }) => String(detail)).join('\n');
    expect(details).toContain(`payment USING INDEX ${index}`);
    expect(details).not.toMatch(/SCAN payment$/m);
  });
});
