import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  print,
  valueToLiteral,
} from 'graphql';
import { encodeGlobalId } from '../../src/schema/global-id.ts';
import { schema } from '../../src/schema/schema.ts';

/** An operation of the real schema, for a bank that answers as `anyAnswer` does. */
export interface GeneratedOperation {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** What hangs on a record, or on entries of a list: how many calls it takes only the bank knows. */
const fromRecords = new Set([
  'Account.owners',
  'Customer.banks',
  'Transaction.thisAccount',
  'Transaction.otherAccount',
  'AccountRef.counterparty',
  'Payment.transaction',
  'OtherAccount.linkedAccount',
  'MakeTransactionPayload.transactionRequests',
  'PutTransactionRequestPayload.transactionRequests',
]);
const isFromRecord = (type: GraphQLNamedType, { name }: GraphQLField<unknown, unknown>) =>
  fromRecords.has(`${type.name}.${name}`) ||
  (type.name.endsWith('Connection') && /^(nodes|edges)$/.test(name));

const isPayment = ({ name }: GraphQLField<unknown, unknown>) =>
  name === 'makeTransaction' || name === 'putTransactionRequest';

const globalIds = [
  encodeGlobalId('Bank', '["BANK"]'),
  encodeGlobalId('Bank', '[".."]'),
  encodeGlobalId('Customer', '["BANK","A"]'),
  encodeGlobalId('Account', '["BANK","A","owner"]'),
  encodeGlobalId('Account', '["B2","B","owner"]'),
  encodeGlobalId('OtherAccount', '["BANK","A","owner","OTHER"]'),
  encodeGlobalId('OtherAccount', '["BANK","A","owner",null,0,{"IBAN":"A"}]'),
  encodeGlobalId('Transaction', '["BANK","A","owner","B"]'),
  encodeGlobalId('Product', '["BANK","A"]'),
  encodeGlobalId('Product', '["BANK",null,0,{"id":"A"}]'),
  encodeGlobalId('Branch', '["BANK","BRANCH"]'),
  encodeGlobalId('Branch', '["BANK",null,0,null]'),
  encodeGlobalId('MetadataEntry', '[{"id":"A"},"METADATA"]'),
  encodeGlobalId('MetadataEntry', '[{"id":"A"},null,0]'),
  encodeGlobalId('MetadataEntry', '[]'),
  'forged',
];

/** The values of arguments, by their names: ids are few, so that records are named twice, and sometimes bad. */
const values: Readonly<Record<string, readonly unknown[]>> = {
  bankId: ['BANK', 'BANK', 'B2', '..'],
  accountId: ['A', 'A', 'B', '..'],
  viewId: ['owner', 'public'],
  branchId: ['BRANCH'],
  otherAccountId: ['OTHER'],
  first: [0, 1, -1],
  last: [1],
  after: ['none'],
  before: ['YXQ6MQ'],
  amount: ['1', '0'],
};

/** Keys that no operation had before: a payment with one of them is sent, and none is replayed. */
let keys = 0;

/** `determined`: nothing is selected that hangs on a record, or on the entries of a list. */
export const generatedOperation = ({ determined }: { readonly determined: boolean }) =>
  fc.gen().map((draw): GeneratedOperation => {
    const oneOf = <T>(choices: readonly T[]): T => draw(() => fc.constantFrom(...choices));
    const chance = (percent: number) => draw(fc.nat, { max: 99 }) < percent;
    const variables: Record<string, unknown> = { yes: true, no: false };
    const definitions = ['$yes: Boolean!', '$no: Boolean!'];
    const fragments: string[] = [];
    let names = 0;
    let paid = false;

    const valueFor = (name: string, wanted: GraphQLInputType): unknown => {
      const type = getNullableType(wanted);
      if (name === 'idempotencyKey') return chance(10) ? '' : `key-${keys++}`;
      const known = values[name];
      if (known !== undefined) return oneOf(known);
      if (isListType(type)) return [valueFor(name, type.ofType), valueFor(name, type.ofType)];
      if (isEnumType(type)) return oneOf(type.getValues()).name;
      if (isInputObjectType(type)) {
        const given = Object.values(type.getFields()).filter(
          // Which version a record has only the bank knows.
          (field) =>
            field.name !== 'ifVersion' &&
            (isRequiredInputField(field) || field.name === 'idempotencyKey' || chance(30)),
        );
        return Object.fromEntries(given.map((field) => [field.name, valueFor(field.name, field.type)]));
      }
      const scalars = new Map<string, readonly unknown[]>([
        ['Boolean', [true, false]],
        ['DateTime', ['2026-01-01T00:00:00Z']],
        ['Float', [1.5]],
        ['Int', [1]],
      ]);
      return oneOf(scalars.get(getNamedType(type).name) ?? ['A', 'A', 'B']);
    };

    const argumentsOf = (field: GraphQLField<unknown, unknown>) => {
      const given = field.args.filter((arg) => isRequiredArgument(arg) || chance(25));
      const texts = given.map((arg) => {
        const value =
          field.name === 'node'
            ? oneOf(globalIds)
            : field.name === 'nodes'
              ? [oneOf(globalIds), oneOf(globalIds), oneOf(globalIds)]
              : valueFor(arg.name, arg.type);
        if (!chance(20))
          return `${arg.name}: ${print(valueToLiteral(value, arg.type) ?? { kind: 'NullValue' })}`;
        const name = `v${names++}`;
        definitions.push(`$${name}: ${arg.type}`);
        variables[name] = value;
        return `${arg.name}: $${name}`;
      });
      return texts.length === 0 ? '' : `(${texts.join(', ')})`;
    };

    const inFragment = (type: GraphQLNamedType, selection: string) => {
      const condition = chance(70) ? '' : ` ${oneOf(['@skip', '@include'])}(if: $${oneOf(['yes', 'no'])})`;
      if (chance(50)) return `... on ${type.name}${condition} { ${selection} }`;
      const name = `F${names++}`;
      fragments.push(`fragment ${name} on ${type.name} { ${selection} }`);
      return `...${name}${condition}`;
    };

    const selectionOf = (type: GraphQLNamedType, depth: number): string => {
      if (isInterfaceType(type)) {
        const types = [0, 1, 2].map(() => oneOf(schema.getPossibleTypes(type)));
        return types.map((one) => inFragment(one, selectionOf(one, depth))).join(' ');
      }
      if (!isObjectType(type)) return '';
      const fields = Object.values(type.getFields()).filter(
        (field) =>
          (depth > 0 || isLeafType(getNamedType(field.type))) && !(determined && isFromRecord(type, field)),
      );
      const texts = Array.from({ length: draw(fc.integer, { min: 1, max: 4 }) }, () => {
        const field = fields.length === 0 ? null : oneOf(fields);
        if (field === null || (isPayment(field) && paid)) return '__typename';
        if (isPayment(field)) paid = true;
        const below = getNamedType(field.type);
        const selection = isLeafType(below) ? '' : ` { ${selectionOf(below, depth - 1)} }`;
        const text = `f${names++}: ${field.name}${argumentsOf(field)}${selection}`;
        return chance(20) ? inFragment(type, text) : text;
      });
      return texts.join(' ');
    };

    const isMutation = chance(30);
    const root = isMutation ? schema.getMutationType() : schema.getQueryType();
    if (!root) throw new Error('the schema has no such root');
    const selection = selectionOf(root, 6);
    const used = definitions.filter((text) => {
      const name = text.split(':')[0] ?? '';
      return new RegExp(`\\${name}\\b`).test([selection, ...fragments].join(' '));
    });
    const head = `${isMutation ? 'mutation' : 'query'}${used.length === 0 ? '' : `(${used.join(', ')})`}`;
    return { document: [`${head} { ${selection} }`, ...fragments].join('\n'), variables };
  });
