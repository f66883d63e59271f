import { findById } from './find-by-id.ts';

type Entry = { readonly id?: string | null | undefined };

/**
 * Records from lists that were read during the operation, so that they need not be read one by one. A record is
 * identified by its place (the other ids that a single read takes) and its id.
 */
export class ListedRecords<T extends Entry> {
  #lists: Map<string, Set<readonly T[]>> | null = null;

  add(place: string, list: readonly T[]): void {
    this.#lists ??= new Map();
    const lists = this.#lists.get(place);
    if (lists === undefined) this.#lists.set(place, new Set([list]));
    else lists.add(list);
  }

  /** Null if no list contains it, or only with broken values: a single read may return it whole. */
  find(place: string, id: string): T | null {
    for (const list of this.#lists?.get(place) ?? []) {
      const record = findById(list, id);
      if (record !== null && isWhole(record)) return record;
    }
    return null;
  }
}

/** Whether none of its values is replaced by an error. */
const isWhole = (value: unknown): boolean =>
  !(value instanceof Error) &&
  (typeof value !== 'object' || value === null || Object.values(value).every(isWhole));
