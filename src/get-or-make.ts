/** The common methods of Map, WeakMap and LRUCache. */
interface Keyed<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/**
 * The value for a key. It is made and kept at the first call. Within a REST call, use `known.get(key) ?? getOrMake(…)`, which
 * saves a function call.
 * Errors: those of `make`; nothing is kept then.
 */
export function getOrMake<Key, Value>(known: Keyed<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  known.set(key, made);
  return made;
}
