/** An entry of a list of the bank: a record, or the error of an invalid one. */
type Entry = { readonly id?: string | null | undefined };

/** Longer lists are indexed. */
const shortList = 16;

const indexes = new WeakMap<readonly Entry[], Map<string, Entry>>();

/**
 * The entry of a loaded list with this id (the first, if there are several); null if there is none. A long list is
 * indexed once, so that a thousand links into it cost a thousand look-ups and not a million comparisons.
 */
export function findById<T extends Entry>(list: readonly T[], id: string): T | null;
export function findById(list: readonly Entry[], id: string): Entry | null {
  if (list.length <= shortList) return list.find((entry) => entry.id === id) ?? null;
  let index = indexes.get(list);
  if (index === undefined) {
    index = new Map();
    for (const entry of list)
      if (typeof entry.id === 'string' && !index.has(entry.id)) index.set(entry.id, entry);
    indexes.set(list, index);
  }
  return index.get(id) ?? null;
}
