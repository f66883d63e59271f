/** The common methods of Map, WeakMap and LRUCache. */
interface Keyed<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/**
 * Returns the value for a key. The first call creates the value and stores it. In code that runs for every REST call, use
 * `known.get(key) ?? getOrMake(…)`, which saves a function call.
 * Errors: those of `make`; then nothing is stored.
 */
export function getOrMake<Key, Value>(known: Keyed<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  known.set(key, made);
  return made;
}
