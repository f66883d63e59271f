import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  buildSchema,
  type ExecutionResult,
  execute,
  experimentalExecuteIncrementally,
  type GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isAbstractType,
  isEnumType,
  isLeafType,
  isListType,
  isObjectType,
  legacyExecuteIncrementally,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  parse,
  responsePathAsArray,
  specifiedRules,
  validate,
} from 'graphql';
import { expect, test } from 'vitest';
import { PreparedOperation } from '../../src/executor/compile.ts';
import { executeIncrementally, Fragments, type IncrementalForm } from '../../src/executor/defer.ts';
import { execute as executePrepared } from '../../src/executor/execute.ts';
import { ofSource, propertyResolver } from '../../src/executor/known-resolvers.ts';
import { ignoreRejections } from '../../src/executor/promises.ts';
import { mergedData } from '../support/incremental-client.ts';

/** A schema with every feature that an executor must implement. Its resolvers may do anything, see `Outcomes`. */
const schemaText = `
  interface Named { name: String must: String! }
  union Any = Thing | Leaf
  enum Choice { A B }
  input In { x: Int! = 4 y: [String!] }
  type Leaf implements Named { name: String must: String! leaf: Leaf choice: Choice }
  type Thing implements Named {
    name: String
    must: String!
    number(n: Int = 3, in: In, list: [Int!]): Int
    choice(is: Choice = A): Choice
    things: [Thing]
    mustThings: [Thing!]
    allThings: [Thing!]!
    grid: [[Int]]
    hardGrid: [[Int!]!]!
    thing: Thing
    hardThing: Thing!
    named: Named
    hardNamed: Named!
    any: Any
    anys: [Any!]
    read: String
    mustRead: Int!
    readThing: Thing
    readThings: [Thing!]
    held: [Int!]
    method: String
  }
  type Query { thing: Thing hardThing: Thing! things: [Thing] named: Named any: Any name: String must: String! }
  type Mutation { first: Thing second: Thing hard: Thing! number(n: Int): Int }
`;
const anySchema = buildSchema(schemaText);
/** graphql's `execute` accepts no schema with @defer. */
const deferSchema = buildSchema(
  `${schemaText} directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT`,
);

/**
 * The results of resolvers, determined by the seed and the place in the answer: values, errors, nulls and values of a wrong
 * type, at once or later. Later results come one by one, in the order in which they were requested, so that both executors get
 * the same results although they take different numbers of steps.
 */
class Outcomes {
  readonly #seed: string;
  readonly #ignoresRejections: boolean;
  readonly #waiting: (() => void)[] = [];
  /** The places that were requested, in order. */
  readonly asked: string[] = [];

  /**
   * `ignoresRejections`: whether to handle rejections after the answer here, because graphql's own executor
   * does not.
   */
  constructor(seed: string, { ignoresRejections = false } = {}) {
    this.#seed = seed;
    this.#ignoresRejections = ignoresRejections;
  }

  resolve(args: object, info: GraphQLResolveInfo): unknown {
    const place = `${responsePathAsArray(info.path).join('.')} ${JSON.stringify(args)}`;
    this.asked.push(place);
    return this.#maybeLater(place, () => this.#valueOf(info.returnType, place));
  }

  /** The value of a record's property, or the result of its method. */
  read(type: GraphQLOutputType, place: string): unknown {
    this.asked.push(place);
    return this.#maybeLater(place, () => this.#valueOf(type, place));
  }

  #dice(place: string, sides: number): number {
    return createHash('sha256').update(`${this.#seed} ${place}`).digest().readUInt16BE() % sides;
  }

  #maybeLater(place: string, make: () => unknown): unknown {
    return this.#dice(`${place} when`, 3) > 0 ? make() : this.#later(make);
  }

  #later(make: () => unknown): Promise<unknown> {
    const later = new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(make());
        } catch (error) {
          reject(error);
        }
      });
      if (this.#waiting.length === 1) this.#pump();
    });
    if (this.#ignoresRejections) later.catch(() => {});
    return later;
  }

  #pump(): void {
    setImmediate(() => {
      this.#waiting[0]?.();
      this.#waiting.shift();
      if (this.#waiting.length > 0) this.#pump();
    });
  }

  #valueOf(type: GraphQLOutputType, place: string): unknown {
    const dice = this.#dice(place, 24);
    if (dice === 0) throw new Error(`thrown at ${place}`);
    if (dice === 1) return new Error(`returned at ${place}`);
    if (dice === 2) return null;
    const wanted = getNullableType(type);
    if (isListType(wanted)) {
      if (dice === 3) return 'no list';
      const count = this.#dice(`${place} items`, 3);
      const makeItem = (index: number) => {
        const itemPlace = `${place} ${index}`;
        return this.#maybeLater(itemPlace, () => this.#valueOf(wanted.ofType, itemPlace));
      };
      const items: unknown[] = [];
      try {
        while (items.length < count) items.push(makeItem(items.length));
      } catch (error) {
        // These promises never reach an executor, so their rejections are handled here.
        ignoreRejections(items);
        throw error;
      }
      if (dice !== 4 && dice !== 5) return items;
      // Outside of arrays, bankql's executor does not handle the rejections that nobody awaits.
      ignoreRejections(items);
      return dice === 4 ? new Set(items) : items.values();
    }
    if (isAbstractType(wanted)) {
      const names = ['Thing', 'Thing', 'Leaf', 'Leaf', 'Query', 'none'];
      return { __typename: names[this.#dice(`${place} type`, names.length)] };
    }
    if (isObjectType(wanted)) return new AnyRecord(this, place);
    if (isEnumType(wanted)) return dice === 3 ? 'C' : 'B';
    if (wanted.name === 'Int') return dice === 3 ? 'x' : dice;
    return dice === 3 ? { no: 'text' } : `text ${dice}`;
  }
}

const typeOf = (field: string): GraphQLOutputType =>
  anySchema.getField(Object(anySchema.getType('Thing')), field)?.type ?? expect.fail(`there is no ${field}`);

/** An object that records each read of a property. */
class AnyRecord {
  readonly #outcomes: Outcomes;
  readonly #place: string;

  constructor(outcomes: Outcomes, place: string) {
    this.#outcomes = outcomes;
    this.#place = place;
  }

  #read = (field: string) => this.#outcomes.read(typeOf(field), `${this.#place} has ${field}`);

  get read() {
    return this.#read('read');
  }
  get mustRead() {
    return this.#read('mustRead');
  }
  get readThing() {
    return this.#read('readThing');
  }
  get readThings() {
    return this.#read('readThings');
  }
  get record() {
    const read = this.#read;
    return {
      get held() {
        return read('held');
      },
    };
  }
  method = () => this.#read('method');
}

/**
 * The fields whose resolvers only read a property. `method` is not among them, because it has the default
 * resolver.
 */
const readers: Readonly<Record<string, (source: never) => unknown>> = {
  read: propertyResolver('read'),
  mustRead: ofSource((source: AnyRecord) => source.mustRead),
  readThing: propertyResolver('readThing'),
  readThings: propertyResolver('readThings'),
  held: propertyResolver('held', 'record'),
};

for (const type of [anySchema, deferSchema].flatMap((schema) => Object.values(schema.getTypeMap()))) {
  if (!isObjectType(type) || type.name.startsWith('__')) continue;
  for (const field of Object.values(type.getFields())) {
    if (field.name === 'method') continue;
    field.resolve =
      (readers[field.name] as typeof field.resolve) ??
      ((_source, args: object, outcomes: Outcomes, info) => outcomes.resolve(args, info));
  }
}

interface AnyOperation {
  readonly document: string;
  readonly hasDefer: boolean;
  readonly variables: Readonly<Record<string, unknown>>;
}

const argumentTexts: Readonly<Record<string, readonly string[]>> = {
  n: ['1', '$int', '$default', 'null', '$absent'],
  in: ['{}', '{ x: 1 }', '{ x: $int, y: ["a", $text] }', '{ y: [] }'],
  list: ['[1, $int]', '2', '[]', '$ints'],
  is: ['A', 'B', '$choice'],
};

const variableDefinitions =
  '$yes: Boolean!, $no: Boolean! = false, $maybe: Boolean = true, $int: Int!, $default: Int = 7, $absent: Int, $text: String! = "t", $ints: [Int!], $choice: Choice! = B';

/** Operations of `anySchema`: aliases, fragments, directives, variables with and without defaults, merged fields. */
const anyOperation = (defers: boolean) =>
  fc.gen().map((draw): AnyOperation => {
    let fragmentCount = 0;
    const oneOf = <T>(choices: readonly T[]): T => draw(() => fc.constantFrom(...choices));
    const chance = (percent: number) => draw(fc.nat, { max: 99 }) < percent;
    const fragments: string[] = [];

    const directive = () =>
      chance(15)
        ? ` @${oneOf(['skip', 'include'])}(if: ${oneOf(['$yes', '$no', '$maybe', 'true', 'false'])})`
        : '';

    const argumentsOf = (field: GraphQLField<unknown, unknown>) => {
      const given = field.args.filter(() => chance(40));
      const texts = given.map(({ name }) => `${name}: ${oneOf(argumentTexts[name] ?? ['null'])}`);
      return texts.length === 0 ? '' : `(${texts.join(', ')})`;
    };

    // The response name of a field is made from the field, so that repeated selections can be merged.
    const fieldOf = (field: GraphQLField<unknown, unknown>, depth: number, prefix: string) => {
      const given = argumentsOf(field);
      const name = `${prefix}${field.name}${given.replaceAll(/\W/g, '_')}: `;
      const alias = prefix === '' && given === '' && chance(70) ? '' : name;
      const named = getNamedType(field.type);
      const below = isLeafType(named) ? '' : ` { ${selectionOf(named, depth - 1, '')} }`;
      return `${alias}${field.name}${given}${directive()}${below}`;
    };

    // A deferred fragment has fields that no other selection has, because bankql delivers shared fields earlier than graphql.
    const selectionOf = (type: GraphQLNamedType, depth: number, prefix: string): string => {
      const count = draw(fc.integer, { min: 1, max: 3 });
      const texts = Array.from({ length: count }, (): string => {
        if (defers && depth > 0 && isObjectType(type) && !type.name.startsWith('Mutation') && chance(25)) {
          const own = `d${fragmentCount++}_`;
          const condition = oneOf(['', '(if: true)', `(label: "${own}")`, '(if: $yes)', '(if: $no)']);
          return `... @defer${condition} { ${selectionOf(type, depth - 1, own)} }`;
        }
        if (depth > -4 && (isAbstractType(type) || chance(15))) {
          const on = isAbstractType(type) ? oneOf(anySchema.getPossibleTypes(type)) : type;
          const selection = selectionOf(on, depth - 1, prefix);
          if (chance(50)) return `... on ${on.name}${directive()} { ${selection} }`;
          fragments.push(`fragment F${fragments.length} on ${on.name} { ${selection} }`);
          return `...F${fragments.length - 1}${directive()}`;
        }
        if (!isObjectType(type) || chance(10)) return `${prefix && `${prefix}type: `}__typename`;
        const fields = Object.values(type.getFields()).filter(
          (field) => depth > 0 || isLeafType(getNamedType(field.type)),
        );
        return fields.length === 0
          ? `${prefix && `${prefix}type: `}__typename`
          : fieldOf(oneOf(fields), depth, prefix);
      });
      return texts.join(' ');
    };

    const kind = chance(20) ? 'mutation' : 'query';
    const root = kind === 'mutation' ? anySchema.getMutationType() : anySchema.getQueryType();
    const selection = root ? selectionOf(root, 3, '') : '__typename';
    return {
      hasDefer: fragmentCount > 0,
      document: `${kind} (${variableDefinitions}) { ${selection} } ${fragments.join(' ')}`,
      variables: {
        yes: true,
        int: 5,
        ...(chance(50) ? { ints: [1, 2] } : {}),
        ...(chance(10) ? { maybe: false } : {}),
      },
    };
  });

const rules = specifiedRules.filter(
  (rule) => rule !== NoUnusedVariablesRule && rule !== NoUnusedFragmentsRule,
);

/** graphql has four messages for an invalid schema; they count as equal. */
const ofSchema = /^(Runtime Object type|Abstract type) .*/;

const told = ({ data, errors }: ExecutionResult) => ({
  data: JSON.stringify(data),
  errors: errors?.map(({ message, path, locations }) => ({
    message: message.replace(ofSchema, '$1').replace('Runtime Object type', 'Abstract type'),
    path,
    // An error of bankql has at most three locations, however many nodes select the field.
    locations: locations?.slice(0, 3),
  })),
});

/** The answers of both executors, and the places that they requested; null if the operation is invalid. */
async function both({ document: text, variables }: AnyOperation, seed: string) {
  const document = parse(text);
  const [fault] = validate(anySchema, document, rules);
  const operation = getOperationAST(document);
  if (fault !== undefined || !operation) return null;
  const { variableValues: values } = getVariableValues(
    anySchema,
    operation.variableDefinitions ?? [],
    variables,
  );
  if (values === undefined) throw new Error('the variables do not fit');
  const prepared = new PreparedOperation({ schema: anySchema, document, operation });
  const reference = new Outcomes(seed, { ignoresRejections: true });
  const expected = await execute({
    schema: anySchema,
    document,
    variableValues: variables,
    contextValue: reference,
  });
  const outcomes = new Outcomes(seed);
  const first = await executePrepared(prepared, outcomes, values);
  // The operation is executed again, because a prepared operation can be used repeatedly.
  const second = await executePrepared(prepared, new Outcomes(seed), values);
  return { expected, reference, first, outcomes, second };
}

test('400 operations are answered as by graphql: the same data, errors, places and resolvers', async () => {
  let compared = 0;
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(anyOperation(false), fc.string({ maxLength: 8 }), async (operation, seed) => {
      const answers = await both(operation, seed);
      if (answers === null) return;
      const { expected, reference, first, outcomes, second } = answers;
      expect(told(first)).toEqual(told(expected));
      expect(told(second)).toEqual(told(expected));
      expect(outcomes.asked).toEqual(reference.asked);
      compared++;
      if (expected.errors !== undefined) failed++;
    }),
    { numRuns: 400, endOnFailure: true },
  );
  // The other operations are invalid: they have fields of one name that cannot be merged.
  expect(compared).toBeGreaterThan(320);
  expect(failed).toBeGreaterThan(80);
});

type Told = ReturnType<typeof told>['errors'];

/** The several results of graphql. */
interface ResultsOfGraphql {
  readonly initialResult: object;
  readonly subsequentResults: AsyncIterable<object>;
}

async function payloadsOf(result: ResultsOfGraphql | Fragments): Promise<object[]> {
  const payloads = 'initialResult' in result ? [result.initialResult] : [];
  const following = 'initialResult' in result ? result.subsequentResults : result.results;
  for await (const payload of following) payloads.push(withIds(payload));
  return payloads;
}

/** The data of all results together, and their errors, in any order. */
async function wholeOf(
  result: ExecutionResult | ResultsOfGraphql | Fragments,
): Promise<{ data: string; errors: string[]; failed: string[]; results: number }> {
  if (!('initialResult' in result || result instanceof Fragments))
    return {
      data: JSON.stringify(sorted(result.data)),
      errors: linesOf(told(result).errors),
      failed: [],
      results: 1,
    };
  const payloads = await payloadsOf(result);
  const errors: string[] = [];
  const failed: string[] = [];
  for (const payload of payloads as {
    errors?: GraphQLError[];
    incremental?: { errors?: GraphQLError[]; data?: unknown; path?: unknown }[];
    completed?: { errors?: GraphQLError[] }[];
  }[]) {
    for (const part of [payload, ...(payload.incremental ?? []), ...(payload.completed ?? [])])
      errors.push(...linesOf(told(part as ExecutionResult).errors));
    for (const part of payload.completed ?? []) if (part.errors !== undefined) failed.push('failed');
  }
  return {
    data: JSON.stringify(sorted(mergedData(payloads))),
    errors: errors.sort(),
    failed,
    results: payloads.length,
  };
}

/**
 * Converts a result in the incremental format of 2022, whose parts have paths, to the current format, whose
 * parts have ids.
 */
function withIds(payload: { incremental?: readonly { path?: unknown; data?: unknown }[] }): object {
  const parts = payload.incremental?.filter(({ path }) => path !== undefined) ?? [];
  if (parts.length === 0) return payload;
  const id = (index: number) => `of 2022, ${index}`;
  return {
    pending: parts.map(({ path }, index) => ({ id: id(index), path })),
    incremental: parts.map((part, index) => ({ ...part, data: part.data ?? {}, id: id(index) })),
  };
}

const linesOf = (errors: Told): string[] =>
  (errors ?? []).map(({ message, path }) => `${path?.join('.')} ${message}`).sort();

/** The fields of fragments are in the order of their delivery, so objects are compared with sorted keys. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

test('400 operations with @defer are answered as by graphql: the same data and errors, also of fragments that fail', async () => {
  let compared = 0;
  let inParts = 0;
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(
      anyOperation(true),
      fc.string({ maxLength: 8 }),
      async ({ document: text, variables, hasDefer }, seed) => {
        if (!hasDefer) return;
        const document = parse(text);
        const operation = getOperationAST(document);
        if (validate(deferSchema, document, rules).length > 0 || !operation) return;
        const { variableValues: values } = getVariableValues(
          anySchema,
          operation.variableDefinitions ?? [],
          variables,
        );
        if (values === undefined) throw new Error('the variables do not fit');
        const asked = () => ({
          schema: deferSchema,
          document,
          variableValues: variables,
          contextValue: new Outcomes(seed, { ignoresRejections: true }),
          enableEarlyExecution: operation.operation === 'query',
        });
        const prepared = new PreparedOperation({ schema: deferSchema, document, operation });
        const run = (form: IncrementalForm) =>
          executeIncrementally(prepared, form, new Outcomes(seed), values).then(wholeOf);
        const own = await run('v0.2');
        expect({ ...own, results: 0 }).toEqual({
          ...(await wholeOf(await experimentalExecuteIncrementally(asked()))),
          results: 0,
        });
        const { data, errors } = await wholeOf(await legacyExecuteIncrementally(asked()));
        expect(await run('20220824')).toMatchObject({ data, errors });
        compared++;
        if (own.results > 1) inParts++;
        failed += own.failed.length;
      },
    ),
    { numRuns: 400, endOnFailure: true },
  );
  expect(compared).toBeGreaterThan(100);
  expect(inParts).toBeGreaterThan(50);
  expect(failed).toBeGreaterThan(10);
});
