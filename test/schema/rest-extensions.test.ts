import { parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { operations } from '../../src/contract/operations.ts';
import { readExamples } from '../../src/http/graphiql/page.ts';
import { fieldsInRest, restOf } from '../../src/schema/rest-extensions.ts';
import { schema } from '../../src/schema/schema.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';
import { sampleCalls } from '../support/sample-calls.ts';

/** The operations that the fields of a document may call, by their extensions. */
function operationsIn(document: string): ReadonlySet<string> {
  const found = new Set<string>();
  const types = new TypeInfo(schema);
  const enter = () => {
    const field = types.getFieldDef();
    // `__typename` is not a field of the schema.
    if (field && !field.name.startsWith('__')) for (const id of restOf(field).operations) found.add(id);
  };
  visit(parse(document), visitWithTypeInfo(types, { Field: { enter } }));
  return found;
}

test.each(Object.values(sampleCalls))(
  '$operation.id is in the extensions of the field that calls it',
  (call) => {
    expect(operationsIn(call.document)).toContain(call.operation.id);
  },
);

test.each(await readExamples())(
  'only operations in the extensions of its fields are called by %s',
  async (document) => {
    await using fixture = await startRecordedSandbox();
    await fixture.bankql.ask(document, {}, alice);
    const called = fixture.recorder.calls.map(({ method, path }) => {
      const found = Object.values(operations)
        .filter((row) => row.method === method)
        .filter((row) => new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
        .sort((one, other) => one.path.split('{').length - other.path.split('{').length);
      return found[0]?.id;
    });
    expect([...operationsIn(document)]).toEqual(expect.arrayContaining(called));
  },
);

test('a field names its operations and its member, and none if an id or a record already answers it', () => {
  const rest = new Map(fieldsInRest(schema).map(({ field, ...said }) => [field, said]));
  expect(rest.get('Bank.branches')).toEqual({
    operations: ['getBranches', 'postBranches'],
    member: undefined,
  });
  expect(rest.get('Bank.branch')).toEqual({ operations: ['getBranches'], member: undefined });
  expect(rest.get('Bank.products')).toEqual({ operations: ['postProducts'], member: undefined });
  expect(rest.get('Account.iban')).toEqual({ operations: [], member: 'IBAN' });
  expect(rest.get('Branch.bank')).toEqual({ operations: [], member: undefined });
  // The field's value comes from the path, whatever the bank's `this_account` contains.
  expect(rest.get('Transaction.accountId')).toEqual({ operations: [], member: undefined });
  expect(rest.get('TransactionRequest.startedAt')).toEqual({ operations: [], member: 'start_date' });
  expect(rest.get('Mutation.updateBranch')).toEqual({
    operations: ['getBranches', 'putBranchID'],
    member: undefined,
  });
  expect(rest.get('Query.node')?.operations).toEqual(expect.arrayContaining(['getCustomer', 'getProduct']));
});
