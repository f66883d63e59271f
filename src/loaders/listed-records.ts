import { findById } from './find-by-id.ts';

type Entry = { readonly id?: string | null | undefined };

/**
 * Records that lists brought during an operation, for whoever asks for one of them afterwards. A record is told by its
 * place (where it would be asked for alone) and its id.
 */
export class ListedRecords<T extends Entry> {
  #lists: Map<string, Set<readonly T[]>> | null = null;

  add(place: string, list: readonly T[]): void {
    this.#lists ??= new Map();
    const lists = this.#lists.get(place);
    if (lists === undefined) this.#lists.set(place, new Set([list]));
    else lists.add(list);
  }

  /** Null where no list has it, or has it broken: alone it may be whole. */
  find(place: string, id: string): T | null {
    for (const list of this.#lists?.get(place) ?? []) {
      const record = findById(list, id);
      if (record !== null && isWhole(record)) return record;
    }
    return null;
  }
}

/** Whether no error stands in the place of a value. */
const isWhole = (value: unknown): boolean =>
  !(value instanceof Error) &&
  (typeof value !== 'object' || value === null || Object.values(value).every(isWhole));
