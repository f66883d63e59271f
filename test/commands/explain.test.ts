import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainFiles } from '../../src/commands/explain.ts';
import { runCommand } from '../support/run-command.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();
const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const file = written(
  'accounts.graphql',
  `query Owners($id: ID!) { bank { account(accountId: $id) { label owners { legalName } } } }
   query Branches { bank { branches { totalCount } } }`,
);
const variables = written('variables.json', '{ "id": "family-joint" }');
const wrong = written('wrong.json', '{ "id": { "a": 1 } }');

// A real bank in the environment is not called: no variable is read.
const environment = { BANK_BASE_URL: 'https://bank.example', MAX_REST_CALLS: '1' };
const run = (...args: string[]) => runCommand(explainFiles, args, { environment });

test('the calls of an operation are listed under the field that made them', async () => {
  const { code, output, errors } = await run(file, '--variables', variables);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(output.replaceAll(/ +/g, ' ')).toBe(`${file}: Owners makes 3 REST calls
 bank.account getAccountsScope: GET /v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/{scope}
 bank.account.owners getCustomer: GET /v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}
 bank.account.owners getCustomer: GET /v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}

${file}: Branches makes 1 REST call
 bank.branches getBranches: GET /v1/api/banks/{BANK_ID}/branches

`);
});

test('--max fails a build where an operation makes more calls', async () => {
  const owners = [file, '--operation', 'Owners', '--variables', variables];
  expect((await run(...owners, '--max', '3')).code).toBe(0);
  const { code, errors } = await run(...owners, '--max', '2');
  expect({ code, errors }).toEqual({
    code: 1,
    errors: `${file}: Owners makes 3 REST calls, and --max allows 2.\n`,
  });
});

test('each operation has a bank of its own: a payment counts again, and no cache saves a call', async () => {
  const pay = (name: string) =>
    `mutation ${name} { makeTransaction(input: { accountId: "alice-current", to: { accountId: "alice-savings" }, value: { amount: "1", currency: "EUR" }, idempotencyKey: "once" }) { replayed payment { account { label } } } }`;
  const payments = written('payments.graphql', `${pay('One')} ${pay('Two')}`);
  const { code, output } = await run(payments, file, payments, '--variables', variables, '--json');
  expect(code).toBe(0);
  const made = JSON.parse(output).map(({ operation, restCalls }: Record<string, unknown>) => [
    operation,
    restCalls,
  ]);
  expect(made).toEqual([
    ['One', 2],
    ['Two', 2],
    ['Owners', 3],
    ['Branches', 1],
    ['One', 2],
    ['Two', 2],
  ]);
});

test('an operation with errors fails, with its calls so far', async () => {
  const nobody = written('nobody.json', '{ "id": "nobody" }');
  const { code, output, errors } = await run(file, '--variables', nobody);
  expect(code).toBe(1);
  expect(output).toContain('Owners makes 1 REST call\n');
  expect(errors).toMatch(`${file}: Owners: bank.account: `);
});

test('a file that cannot be explained is reported, and the others are explained', async () => {
  const broken = written('broken.graphql', '{ nothing }');
  const missing = join(folder, 'missing.graphql');
  const { code, output, errors } = await run(broken, missing, file, '--variables', variables);
  expect(code).toBe(1);
  expect(errors).toContain(`${broken}: Cannot query field "nothing"`);
  expect(errors).toContain(`${missing} cannot be used: the file cannot be read: ENOENT`);
  expect(output).toContain('Owners makes 3 REST calls');
});

describe('what cannot be explained says why', () => {
  test.each([
    [[], 'Name the files with the queries'],
    [[join(folder, 'none.graphql')], 'cannot be read: ENOENT'],
    [[file], 'Variable "$id"'],
    [[file, '--variables', wrong], 'Variable "$id"'],
    [[file, '--max', 'few'], '--max takes a whole number'],
    [[file, '--operation', 'None'], 'There is no operation None'],
    [[file, '--variables', file], 'holds no JSON object of variables'],
    [[file, '--colour'], 'See bankql explain --help'],
  ])('%j', async (args, message) => {
    expect(await run(...args)).toMatchObject({ code: 1, errors: expect.stringContaining(message) });
  });
});
