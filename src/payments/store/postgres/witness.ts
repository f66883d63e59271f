import type { ClientBase } from 'pg';
import { z } from 'zod';
import type { StoredRow } from '../driver.ts';
import { postgresNow } from '../payment-table.ts';
import { parsed } from './postgres-server.ts';

/** A row that existed. A server that lacks it has lost records: it was restored to an earlier time, or emptied. */
type Witness = Pick<StoredRow, 'id' | 'created_at' | 'updated_at'>;

/**
 * The rows that this process has seen in the store, and that nobody else may delete. The newest of them is the
 * witness.
 */
export class Witnesses {
  /** The PENDING rows of this process's own payments, and `#settled`. */
  readonly #rows = new Map<string, Witness>();
  /** The newest row that is not PENDING: nobody deletes it before its retention is over. */
  #settled: Witness | null = null;

  get newest(): Witness | null {
    let newest: Witness | null = null;
    for (const row of this.#rows.values())
      if (newest === null || row.created_at >= newest.created_at) newest = row;
    return newest;
  }

  /** Called when this process has inserted the row. While the row is PENDING, no other process deletes it. */
  begun(row: Witness): void {
    this.#rows.set(row.id, row);
  }

  /** Called with a row that was read and is not PENDING. */
  settled(row: Witness): void {
    const known = this.#settled;
    this.#rows.delete(row.id);
    if (known !== null && known.id !== row.id && known.created_at > row.created_at) return;
    if (known !== null) this.#rows.delete(known.id);
    this.#rows.set(row.id, row);
    this.#settled = row;
  }

  /** Called when a payment of this process has ended. From then on, nobody deletes its row before its retention is over. */
  ended(id: string): void {
    const row = this.#rows.get(id);
    if (row !== undefined) this.settled(row);
  }

  /** Called when this process is about to delete the row, or the row was deleted after its retention. */
  drop(id: string): void {
    this.#rows.delete(id);
    if (this.#settled?.id === id) this.#settled = null;
  }

  has({ id }: Witness): boolean {
    return this.#rows.has(id);
  }

  forget(): void {
    this.#rows.clear();
    this.#settled = null;
  }
}

const number = z.coerce.number();
const lookedUp = z.object({
  now: number,
  is_there: z.boolean(),
  id: z.string().nullable(),
  created_at: number.nullable(),
  updated_at: number.nullable(),
});

/**
 * Looks for the witness in the store.
 * Shape: the server's time; whether the witness is in the store (false without a witness); the newest row that is not PENDING,
 *        or null.
 */
export async function lookFor(client: ClientBase, witness: Witness | null) {
  const { rows } = await client.query(
    `SELECT * FROM (SELECT ${postgresNow} AS now, EXISTS (SELECT FROM bankql.payment WHERE id = $1) AS is_there) AS asked
      LEFT JOIN LATERAL (SELECT id, created_at, updated_at FROM bankql.payment
        WHERE state <> 'PENDING' AND created_at <= asked.now ORDER BY created_at DESC, id DESC LIMIT 1) AS newest ON true`,
    [witness?.id ?? null],
  );
  const { now, is_there: isThere, id, created_at, updated_at } = parsed(lookedUp, rows[0]);
  const isNewest = id !== null && created_at !== null && updated_at !== null;
  return { now, isThere, newest: isNewest ? { id, created_at, updated_at } : null };
}

export const lacks = ({ id, created_at }: Witness): string =>
  `the payment ${id.slice(0, 12)} of ${new Date(created_at).toISOString()}, which bankql has written or read there, is missing: the server was restored to an earlier time, or records were deleted`;
