import { readFileSync } from 'node:fs';
import {
  type GraphQLField,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { printedSchema, schema } from '../../src/schema/schema.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

const ownTypes = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);

describe('the schema', () => {
  test('is what schema.graphql holds', () => {
    expect(read('../../schema.graphql')).toBe(printedSchema());
  });

  test('describes every type, field, argument, input field and enum value', () => {
    const silent: string[] = [];
    const hear = (name: string, { description }: { readonly description?: string | null | undefined }) => {
      if (!description?.trim()) silent.push(name);
    };
    for (const type of ownTypes) {
      hear(type.name, type);
      if (isEnumType(type)) for (const value of type.getValues()) hear(`${type.name}.${value.name}`, value);
      if (isInputObjectType(type))
        for (const field of Object.values(type.getFields())) hear(`${type.name}.${field.name}`, field);
      if (isObjectType(type) || isInterfaceType(type))
        for (const field of Object.values(type.getFields())) {
          hear(`${type.name}.${field.name}`, field);
          for (const argument of field.args) hear(`${type.name}.${field.name}(${argument.name}:)`, argument);
        }
    }
    expect(silent).toEqual([]);
  });
});

/** The fields that reach an operation, and the operations that each of them names. */
const reaching: Readonly<Record<string, readonly string[]>> = {
  'Bank.customer': ['getCustomer'],
  'Bank.account': ['getAccountsScope'],
  'Bank.accounts': ['getAccountsScope'],
  'Bank.branches': ['getBranches', 'postBranches'],
  'Bank.branch': ['getBranches'],
  'Bank.product': ['getProduct'],
  'Bank.products': ['postProducts'],
  'Bank.messages': ['getMessagesOwner'],
  'Query.metadata': ['postMetadata'],
  'Account.owners': ['getCustomer'],
  'Account.otherAccounts': ['getOtherAccounts', 'postOtherAccounts'],
  'Account.otherAccount': ['getOtherAccounts'],
  'Account.transaction': ['getTransaction'],
  'Account.transactionRequests': ['getTransactionsRequest'],
  'OtherAccount.account': ['getAccountsScope'],
  'Transaction.account': ['getAccountsScope'],
  'Transaction.thisAccount': ['getAccountsScope'],
  'Transaction.otherAccount': ['getOtherAccounts'],
  'TransactionRequest.transactions': ['getTransaction'],
  'AccountRef.account': ['getAccountsScope'],
  'AccountRef.counterparty': ['getOtherAccounts'],
  'Account.knownTransactions': ['getTransactionsRequest', 'getTransaction'],
  'TransactionConnection.nodes': ['getTransaction'],
  'TransactionEdge.node': ['getTransaction'],
  'PutAccountPayload.account': ['getAccountsScope'],
  'Viewer.customer': ['getCustomer'],
  'Viewer.account': ['getAccountsScope'],
  'Viewer.accounts': ['getAccountsScope'],
  'Viewer.messages': ['getMessagesOwner'],
  'Customer.accounts': ['getAccountsScope'],
  'Customer.messages': ['getMessagesOwner'],
  'Account.view': ['getAccountsScope'],
  'Account.accounts': ['getAccountsScope'],
  'OtherAccount.linkedAccount': ['getAccountsScope'],
  'Transaction.request': ['getTransactionsRequest'],
  'TransactionRequest.account': ['getAccountsScope'],
  'MakeTransactionPayload.transaction': ['getTransaction'],
  'Payment.account': ['getAccountsScope'],
  'Payment.toAccount': ['getAccountsScope'],
  'Payment.transaction': ['getTransaction'],
  'Mutation.putCustomer': ['putCustomerID'],
  'Mutation.putCustomerMessage': ['the customer message PUT'],
  'Mutation.putBranch': ['putBranchID'],
  'Mutation.putAccount': ['putAccountID'],
  'Mutation.putProduct': ['putProduct'],
  'Mutation.putTransactionMetadata': ['putTransactions'],
  'Mutation.updateCustomer': ['getCustomer', 'putCustomerID'],
  'Mutation.updateAccount': ['getAccountsScope', 'putAccountID'],
  'Mutation.updateBranch': ['getBranches', 'putBranchID'],
  'Mutation.updateProduct': ['getProduct', 'putProduct'],
  'Mutation.annotateTransaction': ['getTransaction', 'putTransactions'],
  'Mutation.putTransactionRequest': ['putTransactionsRequestAccount'],
  'Mutation.makeTransaction': ['postMakeTransaction'],
};

const fieldOf = (path: string): GraphQLField<unknown, unknown> | undefined => {
  const [typeName = '', fieldName = ''] = path.split('.');
  const type = schema.getType(typeName);
  return isObjectType(type) ? type.getFields()[fieldName] : undefined;
};

describe('the description of a field that reaches an operation', () => {
  test.each(Object.entries(reaching))('%s names %j', (path, names) => {
    const said = /REST: (.*)/.exec(fieldOf(path)?.description ?? '')?.[1] ?? '';
    for (const name of names) expect(said).toContain(name);
  });

  test('is there for each operation', () => {
    const named = Object.values(reaching).flat();
    const ids = Object.keys(operations).filter((id) => id !== 'putCustomerMessage');
    expect(ids.filter((id) => !named.includes(id))).toEqual([]);
  });

  test('names no operation in a field that reaches none', () => {
    const wrong: string[] = [];
    for (const type of ownTypes.filter(isObjectType))
      for (const field of Object.values(type.getFields())) {
        const path = `${type.name}.${field.name}`;
        if (/REST: /.test(field.description ?? '') && reaching[path] === undefined) wrong.push(path);
      }
    expect(wrong).toEqual([]);
  });
});
