/**
 * Facts about resolvers that the schema made. They are facts about the function, not about the field: a plugin that wraps
 * resolvers keeps the field's extensions, and its wrapper has to be called.
 */
interface KnownResolver {
  /** The property that the resolver reads, if it does nothing else: the executor then reads it itself. */
  readonly property?: string;
  /** The member of the source that has the property; null if the source itself has it. */
  readonly holder?: string | null;
  /** Whether the resolver uses only its source: no `info` is made for it. */
  readonly usesOnlySource?: true;
  /** Whether the resolver needs only the ids of its object: it may run before the object's record has been read. */
  readonly isEarly?: true;
}

const known = new WeakMap<object, KnownResolver>();
const nothing: KnownResolver = {};

export const knownResolver = (resolve: object | undefined): KnownResolver =>
  (resolve && known.get(resolve)) ?? nothing;

function made<Resolve extends object>(resolve: Resolve, facts: KnownResolver): Resolve {
  known.set(resolve, facts);
  return resolve;
}

type Values = Readonly<Record<string, unknown>>;

/** A resolver that reads a property of its source, or of a member of its source. Errors: TypeError without the member. */
export const propertyResolver = (property: string, holder: string | null = null) =>
  made(
    holder === null
      ? (source: Values) => source[property]
      : (source: Values) => (source[holder] as Values)[property],
    { property, holder },
  );

/** Marks a resolver that uses only its source. */
export const ofSource = <Source, Value>(resolve: (source: Source) => Value) =>
  made(resolve, { usesOnlySource: true });

/** Marks a resolver that needs only the ids of its object. */
export const earlyResolver = <Resolve extends object>(resolve: Resolve): Resolve =>
  made(resolve, { isEarly: true });

/** Marks a resolver that only calls another one with that one's properties. */
export const sameAs = <Resolve extends object>(resolve: Resolve, other: object): Resolve =>
  made(resolve, { ...knownResolver(other) });

/** The results of fields that were resolved before their object was read, by the selected fields. */
type EarlyResults = ReadonlyMap<object, unknown>;

/** The member of an object that has the results. A WeakMap would take ten times as long, for each object. */
const early = Symbol('results of fields that were resolved early');

/** An object with early results. If a plugin made another object from it, with other ids, the results belong to the `owner`. */
type WithEarlyResults = { [early]?: { readonly owner: object; readonly results: EarlyResults } };

/** Keeps the results for the executor, which then does not resolve the fields again. */
export function keepEarlyResults<T extends object>(object: T, results: EarlyResults | null): T {
  if (results !== null) (object as WithEarlyResults)[early] = { owner: object, results };
  return object;
}

export function earlyResultsOf(object: object): EarlyResults | null {
  const kept = (object as WithEarlyResults)[early];
  return kept?.owner === object ? kept.results : null;
}

const lateObjects = new WeakMap<object, Promise<object>>();

/** Keeps the object with its record, which only deferred fields need: they wait for it. Errors are theirs. */
export function keepLateObject<T extends object>(object: T, late: Promise<object>): T {
  late.catch(() => {});
  lateObjects.set(object, late);
  return object;
}

/** Gives an object that was made from another one the results that were resolved early for that one. */
export function keepResultsOf<T extends object>(object: T, from: object): T {
  const late = lateObjectOf(from);
  if (late !== null) lateObjects.set(object, late);
  return keepEarlyResults(object, earlyResultsOf(from));
}

export const lateObjectOf = (object: unknown): Promise<object> | null =>
  lateObjects.get(object as object) ?? null;
