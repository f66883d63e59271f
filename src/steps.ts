/** Work over a list in steps of at most about a millisecond: it yields between them, and returns its result. */
export type Steps<Result> = Generator<void, Result>;

/** How many entries a step handles. */
const entriesPerStep = 250;

/** The result of work whose steps follow each other without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Calls `each` for every entry, for so many of them in a step. */
export function* forEachInSteps<Item>(
  list: readonly Item[],
  each: (item: Item, index: number) => void,
  perStep = entriesPerStep,
): Steps<void> {
  for (const [index, item] of list.entries()) {
    if (index % perStep === perStep - 1) yield;
    each(item, index);
  }
}

/** The entries for which `holds` is true. */
export function* filterInSteps<Item>(list: readonly Item[], holds: (item: Item) => boolean): Steps<Item[]> {
  const chosen: Item[] = [];
  yield* forEachInSteps(list, (item) => {
    if (holds(item)) chosen.push(item);
  });
  return chosen;
}

/**
 * Sorted by a key, which is computed once for each entry; entries whose key is null come last, in their given order.
 * The sort is stable: a merge sort, since the built-in one cannot be interrupted.
 */
export function* sortInSteps<Item, Key>(
  list: readonly Item[],
  keyOf: (item: Item) => Key | null,
  compare: (one: Key, other: Key) => number,
): Steps<Item[]> {
  type Keyed = { readonly item: Item; readonly key: Key };
  const last: Item[] = [];
  let runs: Keyed[][] = [];
  for (let start = 0; start < list.length; start += entriesPerStep) {
    yield;
    const run: Keyed[] = [];
    for (const item of list.slice(start, start + entriesPerStep)) {
      const key = keyOf(item);
      if (key === null) last.push(item);
      else run.push({ item, key });
    }
    runs.push(run.sort((one, other) => compare(one.key, other.key)));
  }
  while (runs.length > 1) {
    const merged: Keyed[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left = [], right = []] = [runs[at], runs[at + 1]];
      merged.push(yield* merge(left, right, (one, other) => compare(one.key, other.key)));
    }
    runs = merged;
  }
  return [...(runs[0] ?? []).map(({ item }) => item), ...last];
}

function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (one: T, other: T) => number,
): Steps<T[]> {
  const merged: T[] = [];
  let [nextLeft, nextRight] = [0, 0];
  while (merged.length < left.length + right.length) {
    if (merged.length % entriesPerStep === entriesPerStep - 1) yield;
    const [one, other] = [left[nextLeft], right[nextRight]];
    if (other === undefined || (one !== undefined && compare(one, other) <= 0)) {
      merged.push(one as T);
      nextLeft++;
    } else {
      merged.push(other);
      nextRight++;
    }
  }
  return merged;
}
