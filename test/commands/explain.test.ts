import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainFiles } from '../../src/commands/explain.ts';
import { runCommand } from '../support/run-command.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();
const file = join(folder, 'accounts.graphql');
writeFileSync(
  file,
  `query Owners($id: ID!) { bank { account(accountId: $id) { label owners { legalName } } } }
   query Branches { bank { branches { totalCount } } }`,
);
const variables = join(folder, 'variables.json');
writeFileSync(variables, '{ "id": "a-1" }');

const run = (...args: string[]) => runIn({}, ...args);
const runIn = (environment: Readonly<Record<string, string>>, ...args: string[]) =>
  runCommand(explainFiles, args, { environment: { BANK_ID: 'BANK', ...environment } });

const wrong = join(folder, 'wrong.json');
writeFileSync(wrong, '{ "id": { "a": 1 } }');

test('a variable that is required and not given has a placeholder', async () => {
  const many = join(folder, 'many.graphql');
  writeFileSync(
    many,
    `mutation Pay($input: MakeTransactionInput!, $yes: Boolean!) {
       makeTransaction(input: $input) { replayed payment @include(if: $yes) { accountId } }
     }
     query Lists($scope: AccountScope!, $n: Int!, $ids: [ID!]!, $name: String) {
       bank { accounts(accountId: "a", scope: $scope, first: $n) { totalCount } branches(search: $name) { totalCount } }
       nodes(ids: $ids) { id }
     }`,
  );
  const { code, output } = await run(file, many, '--json');
  expect(code).toBe(0);
  const costs = JSON.parse(output).map(
    ({ operation, plan }: { operation: string; plan: { least: number } }) => [operation, plan.least],
  );
  expect(costs).toEqual([
    ['Owners', 1],
    ['Branches', 1],
    ['Pay', 1],
    ['Lists', 2],
  ]);
});

test('a file that cannot be explained is reported, and the others are explained', async () => {
  const broken = join(folder, 'broken.graphql');
  writeFileSync(broken, '{ nothing }');
  const missing = join(folder, 'missing.graphql');
  const { code, output, errors } = await run(broken, missing, file);
  expect(code).toBe(1);
  expect(errors).toContain(`${broken}: Cannot query field "nothing"`);
  expect(errors).toContain(`${missing} cannot be read: ENOENT`);
  expect(output).toContain('Owners makes 1 to 1 + n REST calls');
});

test('each operation is told with its calls, by the field that asks for them', async () => {
  const { code, output } = await run(file, '--variables', variables);
  expect(code).toBe(0);
  expect(output.replaceAll(/ +/g, ' ')).toBe(`${file}: Owners makes 1 to 1 + n REST calls, in 2 rounds
 bank.account 1 round 1 getAccountsScope: GET /v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/{scope}
 bank.account.owners 0..n round 2 getCustomer: GET /v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}

${file}: Branches makes 1 REST call
 bank.branches 1 round 1 getBranches: GET /v1/api/banks/{BANK_ID}/branches

`);
});

test('--max fails a build where an operation may cost more', async () => {
  const owners = [file, '--operation', 'Owners', '--variables', variables];
  expect((await run(...owners, '--max', '11')).code).toBe(0);
  const { code, errors } = await run(...owners, '--max', '10');
  expect(code).toBe(1);
  expect(errors).toBe(`${file}: Owners may make 11 REST calls (1 + n, n = 10), and --max allows 10.\n`);
  expect((await run(...owners, '--max', '3', '--entries', '2')).code).toBe(0);
});

test('--json gives the plans', async () => {
  const { output } = await run(file, '--operation', 'Branches', '--json');
  expect(JSON.parse(output)).toMatchObject([{ file, operation: 'Branches', plan: { least: 1, most: '1' } }]);
});

describe('what cannot be explained says why', () => {
  test.each([
    [[], 'Name the files with the queries'],
    [[join(folder, 'none.graphql')], 'cannot be read: ENOENT'],
    [[file, '--variables', wrong], `${file}: Variable "$id"`],
    [[file, '--max', 'few'], '--max takes a whole number'],
    [[file, '--operation', 'None'], 'There is no operation None'],
    [[file, '--variables', file], 'holds no JSON object of variables'],
    [[file, '--colour'], 'See bankql explain --help'],
  ])('%j', async (args, message) => {
    expect(await run(...args)).toMatchObject({ code: 1, errors: expect.stringContaining(message) });
  });
});

test('a claim of the token can say who the viewer is', async () => {
  const viewer = join(folder, 'viewer.graphql');
  writeFileSync(viewer, 'query Me { viewer { customer { legalName } } }');
  const tokens = {
    IDENTITY: 'jwt',
    BANK_SUBSCRIPTION_KEY: 'key',
    IDENTITY_JWKS_URL: 'https://login.example/keys',
    IDENTITY_ISSUER: 'https://login.example',
    IDENTITY_AUDIENCE: 'bank',
    VIEWER_CUSTOMER_ID: '{claim:customer}',
  };
  const { output } = await runIn({ BANK_BASE_URL: 'https://bank.example', ...tokens }, viewer);
  expect(output).toContain('Me makes 1 REST call\n');
});
