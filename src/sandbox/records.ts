import type { DatabaseSync } from 'node:sqlite';
import type { z } from 'zod';
import { parseExactJson, writeExactJson } from '../contract/exact-json.ts';

/** A record's column in a row, checked against the record's shape. */
function reader<T>(shape: z.ZodType<T>) {
  return (row: Record<string, unknown>): T => shape.parse(parseExactJson(String(row.record)));
}

/** Records that have an id of their own, in the order in which they were first put. */
export interface Records<T> {
  /** Undefined where there is no such record. */
  get(id: string): T | undefined;
  all(): T[];
  /** The records in which the list `field` names `value`. */
  naming(field: keyof T & string, value: string): T[];
  /** Creates or replaces. */
  put(id: string, record: T): void;
}

export function records<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>): Records<T> {
  const read = reader(shape);
  const one = db.prepare(`SELECT record FROM ${table} WHERE id = ?`);
  const every = db.prepare(`SELECT record FROM ${table} ORDER BY position`);
  const named = db.prepare(
    `SELECT record FROM ${table}
     WHERE EXISTS (SELECT 1 FROM json_each(record, ?) WHERE value = ?) ORDER BY position`,
  );
  const upsert = db.prepare(
    `INSERT INTO ${table} (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record`,
  );
  return {
    get(id) {
      const row = one.get(id);
      return row && read(row);
    },
    all: () => every.all().map(read),
    naming: (field, value) => named.all(`$.${field}`, value).map(read),
    put(id, record) {
      upsert.run(id, writeExactJson(record));
    },
  };
}

/** Records that belong to another record, in the order in which they were first put. */
export interface ChildRecords<T> {
  /** Undefined where the owner has no such record. */
  get(ownerId: string, id: string): T | undefined;
  of(ownerId: string): T[];
  /** Creates or replaces; a record without an id (null) is always a new one. */
  put(ownerId: string, id: string | null, record: T): void;
}

export function childRecords<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>): ChildRecords<T> {
  const read = reader(shape);
  const one = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? AND id = ?`);
  const every = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? ORDER BY position`);
  const upsert = db.prepare(
    `INSERT INTO ${table} (owner_id, id, record) VALUES (?, ?, ?)
     ON CONFLICT (owner_id, id) DO UPDATE SET record = excluded.record`,
  );
  return {
    get(ownerId, id) {
      const row = one.get(ownerId, id);
      return row && read(row);
    },
    of: (ownerId) => every.all(ownerId).map(read),
    put(ownerId, id, record) {
      upsert.run(ownerId, id, writeExactJson(record));
    },
  };
}
