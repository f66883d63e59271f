import { getOrMake } from '../get-or-make.ts';

const day = 86_400_000;

/** The bank's records, in memory: one database for each start of a sandbox. */
export class Database {
  readonly #start: number;
  readonly #sequences = new Map<string, number>();

  /** `start`: in milliseconds since 1970. The same start results in the same records. */
  constructor(start: number) {
    this.#start = start;
  }

  /** A time of day (UTC), `days` days before the start, as an ISO 8601 text. */
  ago(days: number, time = '09:00'): string {
    return `${new Date(this.#start - days * day).toISOString().slice(0, 10)}T${time}:00.000Z`;
  }

  /** The next id of its kind, such as `tx-0001`. */
  nextId(prefix: string): string {
    const next = (this.#sequences.get(prefix) ?? 0) + 1;
    this.#sequences.set(prefix, next);
    return `${prefix}-${String(next).padStart(4, '0')}`;
  }
}

/** A record of the seed. A record without an id (null) never replaces another one. */
type Seed<T> = readonly [id: string | null, record: T];

/**
 * Records in the order in which they were first put. A record is replaced as a whole, never changed in place, because all
 * databases share the records of the seed.
 */
export class Records<T> {
  readonly #byId = new Map<string | symbol, T>();

  constructor(seed: readonly Seed<T>[]) {
    for (const [id, record] of seed) this.put(id, record);
  }

  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  get all(): T[] {
    return [...this.#byId.values()];
  }

  put<R extends T>(id: string | null, record: R): R {
    this.#byId.set(id ?? Symbol(), record);
    return record;
  }
}

/**
 * A table of records that belong to an owner, such as the transactions of an account. A database creates the seed of an owner
 * when it is first read.
 */
export function childTable<T>(seed: (ownerId: string, database: Database) => readonly Seed<T>[] = () => []) {
  const tables = new WeakMap<Database, Map<string, Records<T>>>();
  return (database: Database, ownerId: string): Records<T> =>
    getOrMake(
      getOrMake(tables, database, () => new Map()),
      ownerId,
      () => new Records(seed(ownerId, database)),
    );
}

/** A table of records that belong to the bank. */
export function table<T>(seed: readonly Seed<T>[]) {
  const children = childTable<T>(() => seed);
  return (database: Database) => children(database, '');
}

/** The cells of a seed that is written as a table: each line is a row, and `|` separates the cells. */
export const rowsOf = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
