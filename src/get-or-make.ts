/** The common methods of Map, WeakMap and LRUCache. */
interface Keyed<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/**
 * The value under a key, which is made and kept when it is first asked for. On the path of a REST call,
 * `known.get(key) ?? getOrMake(…)` saves a function call.
 * Errors: those of `make`; nothing is kept then.
 */
export function getOrMake<Key, Value>(known: Keyed<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  known.set(key, made);
  return made;
}
