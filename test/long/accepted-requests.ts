import {
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { example } from '../../src/sandbox/identity.ts';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { schema } from '../../src/schema/schema.ts';

/** A field of an operation, with the selections below it. */
interface Selected {
  readonly field: string;
  readonly arguments: string;
  /**
   * The type of the fields below it. `on`: the type's name in a fragment, if the field is below an interface.
   */
  readonly type: string;
  readonly on: string | null;
  readonly children: readonly Selected[];
}

export interface Candidate {
  readonly root: readonly Selected[];
  /** The length of the aliases. */
  readonly aliasLength: number;
  /** The ids that are requested by `nodes`. */
  readonly ids: readonly string[];
  /** The form of delivery: in one result, or with the selections below fields deferred. */
  readonly delivery: Delivery;
}

const deliveries = ['whole', 'defer'] as const;
type Delivery = (typeof deliveries)[number];
/** The maximum number of directives in an operation. */
const maxDirectives = 20;

/** Random numbers from 0 to 1, which depend only on the seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const { ids } = example;
const bank = ids['bank-id'];
const manyIds = (make: (index: number) => string) => Array.from({ length: 100 }, (_, index) => make(index));
const idLists: readonly (readonly string[])[] = [
  manyIds((index) => encodeGlobalId('Account', JSON.stringify([bank, `a${index}`, ids.view]))),
  manyIds(() => encodeGlobalId('Account', JSON.stringify([bank, ids.account, ids.view]))),
  manyIds(() => encodeGlobalId('Bank', JSON.stringify([bank]))),
  manyIds((index) => encodeGlobalId('Bank', JSON.stringify([`B${index}`]))),
  manyIds(() => encodeGlobalId('Customer', JSON.stringify([bank, ids.customer]))),
  manyIds(() => encodeGlobalId('Branch', JSON.stringify([bank, ids.branch]))),
  manyIds(() => 'forged'),
];

/** Arguments by their names: values that the sandbox bank knows, and values that are refused separately for each field. */
const argumentTexts: Readonly<Record<string, readonly string[]>> = {
  bankId: [`"${bank}"`, '".."'],
  accountId: [`"${ids.account}"`, '"alice-savings"', '".."'],
  viewId: [`"${ids.view}"`, '".."'],
  customerId: [`"${ids.customer}"`, '".."'],
  branchId: [`"${ids.branch}"`, '"none"'],
  productId: [`"${ids.product}"`, '".."'],
  transactionId: [`"${ids.transaction}"`, '"tx-0217"', '".."'],
  otherAccountId: ['"none"'],
  idempotencyKey: ['"k"', '""'],
  ids: ['$ids'],
  id: ['"forged"', `"${ids.metadata}"`, `"${encodeGlobalId('Bank', JSON.stringify([bank]))}"`],
  first: ['-1', '1000000'],
  last: ['-1', '1000000'],
  filter: ['{ id: "x" }', '{ iban: "x" }'],
};

const dearOnce = [
  'bank branches nodes bank branches nodes name',
  'bank branches nodes bank branches nodes bank branches nodes name',
  'bank branches edges node bank branches edges cursor',
  'bank account otherAccounts nodes holder name',
  'bank account bank account bank account bank account label',
  'nodes Account:otherAccounts totalCount',
  'nodes Account:bank branches nodes name',
  'nodes Bank:branches nodes bank branches totalCount',
  'nodes Customer:legalName',
];

/** Generates random operations over the schema's queries, and random changes of them. */
export function createGenerator(random: () => number) {
  const oneOf = <T>(choices: readonly T[]): T => {
    const chosen = choices[Math.floor(random() * choices.length)];
    if (chosen === undefined) throw new Error('there is nothing to choose from');
    return chosen;
  };

  const argumentsOf = ({ args }: GraphQLField<unknown, unknown>): string => {
    const given = args.filter((arg) => isRequiredArgument(arg) || random() < 0.15);
    const texts = given.map(({ name }) => `${name}: ${oneOf(argumentTexts[name] ?? ['null'])}`);
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  };

  function fieldOf(on: GraphQLNamedType, depth: number): Selected {
    if (isInterfaceType(on)) {
      const type = oneOf(schema.getPossibleTypes(on));
      return { ...fieldOf(type, depth), on: type.name };
    }
    if (!isObjectType(on)) throw new Error(`${on.name} has no fields`);
    const fields = Object.values(on.getFields());
    const composite = fields.filter((field) => !isLeafType(getNamedType(field.type)));
    // Lists multiply the selections below them.
    const lists = composite.filter(({ name, type }) => name === 'nodes' || /Connection/.test(String(type)));
    const dear = lists.length > 0 && random() < 0.5 ? lists : composite;
    const field = oneOf(depth > 0 && dear.length > 0 && random() < 0.7 ? dear : fields);
    const type = getNamedType(field.type);
    const count = isLeafType(type) ? 0 : 1 + Math.floor(random() * 3);
    return {
      field: field.name,
      arguments: argumentsOf(field),
      type: type.name,
      on: null,
      children: depth > 0 ? Array.from({ length: count }, () => fieldOf(type, depth - 1)) : [],
    };
  }

  const typeOf = (name: string): GraphQLNamedType => {
    const type = schema.getType(name);
    if (type === undefined) throw new Error(`there is no ${name}`);
    return type;
  };
  const query = typeOf('Query');

  /** A list of selections with one random change. */
  function change(
    selections: readonly Selected[],
    parent: GraphQLNamedType,
    donors: readonly Selected[],
  ): readonly Selected[] {
    const inside = selections.filter(({ children }) => children.length > 0);
    if (inside.length > 0 && random() < 0.75) {
      const chosen = oneOf(inside);
      const children = change(chosen.children, typeOf(chosen.type), donors);
      return selections.map((each) => (each === chosen ? { ...each, children } : each));
    }
    const dice = random();
    if (dice < 0.15 && selections.length > 1) {
      const removed = oneOf(selections);
      return selections.filter((each) => each !== removed);
    }
    if (dice < 0.4 && selections.length > 0) return [...selections, oneOf(selections)];
    if (dice < 0.75 && selections.length > 0) {
      // Inserts the selections of the same type below this one, so each change adds a level.
      const chosen = oneOf(selections);
      const fitting = donors.filter(({ type, children }) => type === chosen.type && children.length > 0);
      if (fitting.length > 0) {
        const { children } = oneOf(fitting);
        return selections.map((each) =>
          each === chosen ? { ...each, children: [...each.children, ...children] } : each,
        );
      }
    }
    return [...selections, fieldOf(parent, 1 + Math.floor(random() * 3))];
  }

  const everySelected = (selections: readonly Selected[]): readonly Selected[] =>
    selections.flatMap((each) => [each, ...everySelected(each.children)]);

  /** A field below a path of other fields. `Type:field` in the path means that the parent field is of an interface. */
  function nested(path: readonly string[], on: GraphQLNamedType = query): readonly Selected[] {
    const [first, ...rest] = path;
    if (first === undefined) return [];
    const [name = '', typeName] = first.split(':').reverse();
    const parent = typeName === undefined ? on : typeOf(typeName);
    const field = isObjectType(parent) ? parent.getFields()[name] : undefined;
    if (field === undefined) throw new Error(`${parent.name} has no field ${name}`);
    const type = getNamedType(field.type);
    const given = argumentsOf(field);
    return [
      { field: name, arguments: given, type: type.name, on: typeName ?? null, children: nested(rest, type) },
    ];
  }

  return {
    /** Shapes that were expensive before, with which the search begins. */
    beginnings: (): readonly Candidate[] =>
      dearOnce.flatMap((path) =>
        idLists.map((ids) => ({
          root: nested(path.split(' ')),
          aliasLength: oneOf([2, 128]),
          ids,
          delivery: oneOf(deliveries),
        })),
      ),
    fresh: (): Candidate => ({
      root: [fieldOf(query, 2 + Math.floor(random() * 6))],
      aliasLength: oneOf([2, 2, 40, 128]),
      ids: oneOf(idLists),
      delivery: oneOf(deliveries),
    }),
    /** Changes a candidate. `other` provides parts. */
    mutate(candidate: Candidate, other: Candidate): Candidate {
      let { root } = candidate;
      const donors = [...everySelected(root), ...everySelected(other.root)];
      for (let step = Math.floor(random() * 4); step >= 0; step--) root = change(root, query, donors);
      return {
        root,
        aliasLength: random() < 0.1 ? oneOf([2, 40, 128, 10_000]) : candidate.aliasLength,
        ids: random() < 0.1 ? oneOf(idLists) : candidate.ids,
        delivery: random() < 0.1 ? oneOf(deliveries) : candidate.delivery,
      };
    },
  };
}

/** The body of a request for a candidate. `nonce` makes its text new for every server. */
export function bodyOf({ root, aliasLength, ids, delivery }: Candidate, nonce: number): string {
  let aliases = 0;
  let directives = 0;
  const print = (selections: readonly Selected[]): string => {
    const taken = new Set<string>();
    const texts = selections.map((each) => {
      const { field, on, children } = each;
      const name = `${on} ${field}`;
      const alias = taken.has(name) ? `${`a${aliases++}`.padEnd(aliasLength, '_')}: ` : '';
      taken.add(name);
      const isDeferred = delivery === 'defer' && children.length > 0 && ++directives <= maxDirectives;
      const below = isLeafType(schema.getType(each.type)) ? '' : ` { ${print(children) || '__typename'} }`;
      const text = `${alias}${field}${each.arguments}${below}`;
      if (on === null && !isDeferred) return text;
      return `...${on === null ? '' : ` on ${on}`}${isDeferred ? ' @defer' : ''} { ${text} }`;
    });
    return texts.join(' ');
  };
  const selection = print(root);
  const usesIds = selection.includes('$ids');
  const query = `query Q${nonce}${usesIds ? '($ids: [ID!]!)' : ''} { ${selection} }`;
  return JSON.stringify(usesIds ? { query, variables: { ids } } : { query });
}
