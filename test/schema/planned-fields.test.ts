import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { schema } from '../../src/schema/schema.ts';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { credentials } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

/** A plan contains the calls of every field that can lead to one, wherever the field is. */

type Field = GraphQLField<unknown, unknown>;

/** A literal that an argument of this type takes. */
function literalOf(type: GraphQLInputType): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return named.getValues()[0]?.name ?? '';
  if (!isInputObjectType(named))
    return { Boolean: 'true', Float: '1', Int: '1', Decimal: '1' }[named.name] ?? '"x"';
  const fields = Object.values(named.getFields()).filter(({ deprecationReason }) => !deprecationReason);
  const given = fields.filter((field) => isRequiredInputField(field) || field.name === 'idempotencyKey');
  // Changes have to name something.
  const chosen = given.length === 0 ? fields.slice(0, 1) : given;
  return `{ ${chosen.map((field) => `${field.name}: ${literalOf(field.type)}`).join(', ')} }`;
}

const selectionOf = (field: Field): string => {
  const args = field.args.filter(isRequiredArgument);
  if (args.length === 0) return field.name;
  return `${field.name}(${args.map((arg) => `${arg.name}: ${literalOf(arg.type)}`).join(', ')})`;
};

/** The selections that lead from the root to each object type, each by one of the shortest ways. */
function pathsToTypes(): ReadonlyMap<string, readonly string[]> {
  const paths = new Map<string, readonly string[]>([
    ['Query', []],
    ['Mutation', []],
    // Of another customer the bank tells no accounts and messages.
    ['Customer', ['viewer', 'customer']],
  ]);
  for (const [typeName, path] of paths) {
    const type = schema.getType(typeName);
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const next = getNamedType(field.type);
      if (isObjectType(next) && !paths.has(next.name)) paths.set(next.name, [...path, selectionOf(field)]);
    }
  }
  return paths;
}

/** A field of an object that only its record tells. */
const ofRecord: Readonly<Record<string, string>> = {
  Account: 'label',
  Branch: 'name',
  Customer: 'email',
  OtherAccount: 'iban',
  Product: 'name',
  Transaction: 'uuid',
  TransactionRequest: 'status',
};

function leafOf(field: Field): string {
  const type = getNamedType(field.type);
  if (isInterfaceType(type) || !isObjectType(type)) return '';
  return ` { ${ofRecord[type.name] ?? '__typename'} }`;
}

/** The operations that a field's description names: the first is that of any arguments. */
const operationsOf = ({ description }: Field): readonly string[] => {
  const [, rest = ''] = /REST: (.*)/s.exec(description ?? '') ?? [];
  return (rest.match(/\w+/g) ?? []).filter((word) => word in operations);
};

const paths = pathsToTypes();
const documents = [...paths].flatMap(([typeName, path]) => {
  const type = schema.getType(typeName);
  if (!isObjectType(type)) return [];
  return Object.values(type.getFields()).flatMap((field) => {
    const [called] = operationsOf(field);
    if (called === undefined) return [];
    const isMutation =
      typeName === 'Mutation' ||
      schema.getMutationType()?.getFields()[/^\w+/.exec(path[0] ?? '')?.[0] ?? ''] !== undefined;
    const selections = [...path, `${selectionOf(field)}${leafOf(field)}`];
    const text = selections.reduceRight((inner, selection) => `${selection} { ${inner} }`);
    return [
      [`${typeName}.${field.name}`, called, `${isMutation ? 'mutation' : 'query'} { ${text} }`] as const,
    ];
  });
});

const defaults = {
  bankId: 'BANK',
  viewId: 'owner',
  allProductsId: 'all',
  viewer: {
    customerId: validateViewerTemplate('{auth-id}-C'),
    accountId: validateViewerTemplate('{auth-id}-A'),
  },
};

interface Plan {
  readonly extensions?: {
    readonly explain?: {
      readonly plan?: {
        readonly most: string;
        readonly rounds: number;
        readonly calls: readonly {
          readonly operation: string;
          readonly path: string;
          readonly times: string;
          readonly round: number;
        }[];
      };
    };
  };
}

async function plan(document: string) {
  await using fixture = await startBankqlFixture({ explains: true, defaults });
  const result = (await fixture.ask(document, {}, { ...credentials, 'x-bankql-explain': 'plan' })) as Plan;
  expect(fixture.bank.calls).toEqual([]);
  const planned = result.extensions?.explain?.plan;
  if (planned === undefined) throw new Error(`no plan of ${document}: ${JSON.stringify(result)}`);
  return planned;
}

test('every type is reached, and every link to a record says which operation reads it', () => {
  for (const name of Object.keys(ofRecord)) expect([...paths.keys()]).toContain(name);
  const links = [...paths.keys()].flatMap((typeName) => {
    const type = schema.getType(typeName);
    if (!isObjectType(type) || /(Connection|Edge)$/.test(typeName)) return [];
    return Object.values(type.getFields())
      .filter((field) => getNamedType(field.type).name in ofRecord && operationsOf(field).length === 0)
      .map(({ name }) => `${typeName}.${name}`);
  });
  // Records that the operation has just read or written; only a bank that answers a write without one is asked again.
  expect(links.sort()).toEqual(atHand);
});

const atHand = [
  'AnnotateTransactionPayload.conflict',
  'AnnotateTransactionPayload.transaction',
  'MakeTransactionPayload.transactionRequests',
  'PutBranchPayload.branch',
  'PutCustomerPayload.customer',
  'PutProductPayload.product',
  'PutTransactionMetadataPayload.transaction',
  'PutTransactionRequestPayload.transactionRequests',
  'UpdateAccountPayload.account',
  'UpdateAccountPayload.conflict',
  'UpdateBranchPayload.branch',
  'UpdateBranchPayload.conflict',
  'UpdateCustomerPayload.conflict',
  'UpdateCustomerPayload.customer',
  'UpdateProductPayload.conflict',
  'UpdateProductPayload.product',
];

test.each(documents)('%s: a plan contains %s', async (_field, called, document) => {
  const { calls } = await plan(document);
  expect(calls.map(({ operation }) => operation)).toContain(called);
});

test('a field names each operation, but for the one that has no name in the specification', () => {
  const fields = [...paths.keys()].flatMap((typeName) => {
    const type = schema.getType(typeName);
    return isObjectType(type) ? Object.values(type.getFields()) : [];
  });
  const named = new Set(fields.flatMap(operationsOf));
  expect(Object.keys(operations).filter((id) => !named.has(id))).toEqual(['putCustomerMessage']);
});

describe('the plan', () => {
  test('of payments has the calls of their links, once for each, in the first round', async () => {
    const { most, rounds, calls } = await plan(
      '{ payments { nodes { account { label } toAccount { label } transaction { uuid } } } }',
    );
    expect([most, rounds]).toEqual(['3n', 1]);
    expect(calls.map(({ path, times }) => [path, times])).toEqual([
      ['payments.nodes.account', '0..n'],
      ['payments.nodes.toAccount', '0..n'],
      ['payments.nodes.transaction', '0..n'],
    ]);
    expect((await plan('{ payment(idempotencyKey: "k") { account { label } } }')).most).toBe('1');
  });

  test('of what owners have counts the call for the viewer, whoever of them that is, once', async () => {
    const { calls } = await plan(
      '{ bank { account(accountId: "A") { owners { accounts { nodes { label } } messages { totalCount } } } } }',
    );
    expect(calls.map(({ operation, times }) => [operation, times])).toEqual([
      ['getAccountsScope', '1'],
      ['getAccountsScope', '0..1'],
      ['getMessagesOwner', '0..1'],
    ]);
  });

  test('of another customer than the viewer has no call for accounts', async () => {
    const { most } = await plan('{ bank { customer(customerId: "other") { accounts { totalCount } } } }');
    expect(most).toBe('0');
  });
});
