import { isInputObjectType, isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { printSchema, servedSchema } from '../../src/commands/schema.ts';
import { readConfig } from '../../src/config/config.ts';
import { schema } from '../../src/schema/schema.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';
import { runCommand } from '../support/run-command.ts';

const staff = [
  'putAccount',
  'putBranch',
  'putCustomerMessage',
  'putProduct',
  'updateBranch',
  'updateProduct',
];
const mutationsOf = (served: typeof schema) => Object.keys(served.getMutationType()?.getFields() ?? {});

describe('the mutations of the staff', () => {
  test('are not in the schema for apps, nor are the types that only they use', async () => {
    const served = servedSchema(readConfig({ SCHEMA: 'app' }));
    expect(mutationsOf(served)).toEqual(mutationsOf(schema).filter((mutation) => !staff.includes(mutation)));
    const gone = Object.keys(schema.getTypeMap()).filter((type) => served.getType(type) === undefined);
    expect(gone).toEqual(
      expect.arrayContaining(['PutBranchInput', 'PutBranchPayload', 'BranchChanges', 'ProductInput']),
    );
    for (const type of gone) {
      expect(type).toMatch(/Input|Payload|Changes/);
      expect(isObjectType(schema.getType(type)) || isInputObjectType(schema.getType(type))).toBe(true);
    }
    expect(served.getType('Product')).toBeDefined();
    expect(served.getType('MetadataEntry')).toBeDefined();
  });

  test('are not in the SDL that `bankql schema` prints for apps', async () => {
    const { output } = await runCommand(printSchema, [], { environment: { SCHEMA: 'app' } });
    expect(output).toContain('makeTransaction');
    for (const name of staff) expect(output).not.toContain(`  ${name}(`);
  });

  test('are FORBIDDEN for customers at the sandbox', async () => {
    await using fixture = await startRecordedSandbox();
    const ask = async (document: string, caller: string) => {
      const { errors } = await fixture.bankql.ask(
        `mutation { ${document} }`,
        {},
        { ...alice, 'Auth-ID': caller },
      );
      return errors?.map(({ extensions }) => extensions.code);
    };
    for (const document of [
      'putAccount(input: { accountId: "alice-current", account: { balance: { amount: "1.00", currency: "EUR" } } }) { trackId }',
      'putBranch(input: { branchId: "nicosia-main", branch: { acceptsDeposits: true } }) { trackId }',
      'updateBranch(input: { branchId: "nicosia-main", changes: { name: "Mine" } }) { trackId }',
      'putProduct(input: { product: { productId: "current-plus", name: "Mine" } }) { trackId }',
      'updateProduct(input: { productId: "current-plus", changes: { name: "Mine" } }) { trackId }',
      'putCustomerMessage(input: { customerId: "alice", message: "m", fromDepartment: "d", fromPerson: "p" }) { trackId }',
    ]) {
      expect([document, await ask(document, 'alice')]).toEqual([document, ['FORBIDDEN']]);
      expect([document, await ask(document, 'staff')]).toEqual([document, undefined]);
    }
  });
});
