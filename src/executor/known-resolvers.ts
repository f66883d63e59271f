/**
 * Facts about a resolver of bankql's schema, which allow the executor to do less. They belong to the function and not to the
 * field: if a plugin wraps the resolver, there are no facts about the wrapper, so the executor calls it.
 */
interface KnownResolver {
  /** The property that the resolver reads, if it does nothing else: the executor then reads it itself. */
  readonly property?: string;
  /** The source's member in which the property is; null if it is in the source itself. */
  readonly holder?: string | null;
  /** Whether the resolver uses only its source, so that no `info` is made for it. */
  readonly usesOnlySource?: true;
  /** Whether the resolver needs only the ids of its object, so that it may run before the object's record is read. */
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

/** Copies the facts about another resolver to a resolver that only calls it. */
export const sameAs = <Resolve extends object>(resolve: Resolve, other: object): Resolve =>
  made(resolve, { ...knownResolver(other) });

/** The results of fields that were resolved before their object was read, by the selected fields. */
type EarlyResults = ReadonlyMap<object, unknown>;

/** The object's member that holds its early results. A WeakMap would take ten times as long. */
const early = Symbol('results of fields that were resolved early');

/** An object with early results. They are valid only for `owner`: a plugin may have copied the object and changed its ids. */
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

/**
 * Stores the promise of the object with its record, for an object that does not have its record yet. Only
 * deferred fields wait for this promise and report its errors.
 */
export function keepLateObject<T extends object>(object: T, late: Promise<object>): T {
  late.catch(() => {});
  lateObjects.set(object, late);
  return object;
}

/** Copies the early results of an object to another object that was made from it. */
export function keepResultsOf<T extends object>(object: T, from: object): T {
  const late = lateObjectOf(from);
  if (late !== null) lateObjects.set(object, late);
  return keepEarlyResults(object, earlyResultsOf(from));
}

export const lateObjectOf = (object: unknown): Promise<object> | null =>
  lateObjects.get(object as object) ?? null;
