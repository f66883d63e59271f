import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInputObjectType, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { variablesSchema } from '../../src/agents/json-schema.ts';
import { loadTools } from '../../src/agents/tools.ts';
import { schema } from '../../src/schema/schema.ts';
import {
  type Asked,
  alice,
  answerOf,
  call,
  documents,
  documentsFolder,
  input,
  messageOf,
  send,
  startAgents,
} from '../support/agents.ts';

const documentLimits = { tokens: 2000, depth: 15, aliases: 30, rootFields: 50, directives: 20, fields: 500 };

const load = (folder: string) => loadTools(folder, { schema, documentLimits, introspection: true });

/** Each schema within a schema, at any depth. */
function* schemasIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  const { properties, items } = value as { properties?: Record<string, unknown>; items?: unknown };
  yield value as Record<string, unknown>;
  for (const each of [...Object.values(properties ?? {}), items]) yield* schemasIn(each);
}

describe('the list of tools', () => {
  test('has exactly the named operations, sorted, with the same bytes each time', async () => {
    await using agents = await startAgents();
    const [first, second] = [await send(agents.url, 'tools/list'), await send(agents.url, 'tools/list')];
    const text = await first.text();
    expect(await second.text()).toBe(text);
    const { tools } = JSON.parse(text).result;
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['Anything', 'Balance', 'Paid', 'Pay']);
    const [, balance, , pay] = tools;
    expect(balance).toEqual({
      name: 'Balance',
      description: 'The balance of an account.',
      inputSchema: {
        type: 'object',
        properties: { account: { type: 'string', description: 'The id of the account.' } },
        required: ['account'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true },
    });
    expect(pay.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(JSON.stringify(pay)).not.toContain('idempotencyKey');
    expect(agents.bank.recorder.calls).toEqual([]);
  });

  test('has no schema without a type, whatever the variables are', () => {
    const variables = Object.values(schema.getTypeMap())
      .filter((type) => isInputObjectType(type))
      .map(({ name }) => `$v${name}: [${name}!]`)
      .join(' ');
    const [operation] = parse(
      `query Q(${variables} $state: [PaymentState] $since: DateTime) { __typename }`,
    ).definitions;
    if (operation?.kind !== 'OperationDefinition') throw new Error('it is an operation');
    const all = [...schemasIn(variablesSchema(schema, operation))];
    expect(all.length).toBeGreaterThan(200);
    expect(all.filter(({ type }) => type === undefined)).toEqual([]);
  });

  test('shows defaults, enums, lists, nested inputs and decimals as they are accepted', async () => {
    const query = `query Shown(
      $states: [PaymentState!] = UNKNOWN
      $since: DateTime = "2026-01-01T00:00:00Z"
      $first: Int = 5
      $near: NearInput! = { latitude: 35.1, longitude: 33.3 }
      $flag: Boolean! = false
    ) {
      payments(states: $states, since: $since, first: $first) { nodes { state } }
      bank @include(if: $flag) { branches(near: $near) { totalCount } }
    }`;
    await using agents = await startAgents({
      documents: { 'shown.graphql': query, 'pay.graphql': decimalDefault },
    });
    const { tools } = JSON.parse(await (await send(agents.url, 'tools/list')).text()).result;
    const [decimal, shown] = tools;
    const defaults = Object.fromEntries(
      Object.entries<{ default?: unknown }>(shown.inputSchema.properties).map(([name, each]) => [
        name,
        each.default,
      ]),
    );
    expect(defaults).toEqual({
      states: ['UNKNOWN'],
      since: '2026-01-01T00:00:00Z',
      first: 5,
      near: { latitude: expect.anything(), longitude: expect.anything() },
      flag: false,
    });
    expect(shown.inputSchema.required).toEqual([]);
    const { enum: names } = shown.inputSchema.properties.states.items;
    expect(names).toEqual(['DONE', 'PENDING', 'REJECTED', 'UNKNOWN']);
    for (const state of names)
      expect(answerOf(await call(agents.url, 'Shown', { ...defaults, states: [state] }))).toEqual({
        data: { payments: { nodes: [] } },
      });
    expect(decimal.inputSchema.properties.value.default).toEqual({ amount: '1.50', currency: 'EUR' });
    const asked = await call(agents.url, 'Decimal', {
      value: decimal.inputSchema.properties.value.default,
      to: { accountId: 'bob-current' },
    });
    expect(asked.inputRequests?.confirmation.params.message).toContain('Pay 1.50 EUR?');
    expect(JSON.stringify(decimal)).not.toContain('idempotencyKey');
    expect(agents.payments()).toBe(0);
  });
});

const decimalDefault = `mutation Decimal($value: AmountInput! = { amount: 1.50, currency: "EUR" }, $to: PayeeInput!, $key: String!) {
  makeTransaction(input: { accountId: "alice-current", to: $to, value: $value, idempotencyKey: $key }) { payment { state } }
}`;

describe('a call', () => {
  test.each<[string, string, object]>([
    ['an unknown argument', 'Balance', { account: 'alice-current', acount: 'x' }],
    ['one of a name that every object has', 'Balance', { account: 'alice-current', toString: 'x' }],
    ['one inside an input', 'Pay', { input: { ...input(), amount: '1' } }],
    ['an argument that is missing', 'Balance', {}],
    ['an idempotencyKey for a payment', 'Pay', { input: { ...input(), idempotencyKey: 'k' } }],
    ['one that is null', 'Pay', { input: { ...input(), idempotencyKey: null } }],
    ['one beside the input', 'Pay', { input: input(), idempotencyKey: 'k' }],
    ['the variable of the key', 'Decimal', { to: { accountId: 'b' }, key: 'k' }],
    ['an input that is none', 'Pay', { input: [input()] }],
  ])('with %s is refused as BAD_USER_INPUT, and sends nothing', async (_what, name, given) => {
    await using agents = await startAgents({
      documents: { ...documents, 'decimal.graphql': decimalDefault },
    });
    const result = await call(agents.url, name, { ...given });
    expect(result.isError).toBe(true);
    expect(answerOf(result).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(agents.bank.recorder.calls).toEqual([]);
  });

  test('gives digits as they are, and errors beside a part of the data', async () => {
    const document = `query Two { bank {
      one: account(accountId: "alice-current") { balance { amount } }
      two: account(accountId: "nobody") { label }
    } }`;
    await using agents = await startAgents({ documents: { 'two.graphql': document } });
    const { recorder, forward } = agents.bank;
    recorder.otherwise(async (asked) => {
      const reply = await forward(asked);
      return { ...reply, body: String(reply.body).replace('4305.80', '4305.80000000000000000001') };
    });
    const result = await call(agents.url, 'Two', {});
    expect(result.isError).toBeUndefined();
    expect(answerOf(result)).toMatchObject({
      data: { bank: { one: { balance: { amount: '4305.80000000000000000001' } }, two: null } },
      errors: [{ path: ['bank', 'two'], extensions: { code: 'NOT_FOUND' } }],
    });
  });

  test('is answered with the same bytes on both ways through the SDK', async () => {
    await using agents = await startAgents();
    const post = async (headers: Record<string, string>, body: string) => {
      const response = await fetch(agents.url, { method: 'POST', headers: { ...headers, ...alice }, body });
      const text = (await response.text()).replace(/"requestState":"[^"]+"/, '"requestState":"signed"');
      return [response.status, response.headers.get('content-type'), text] as const;
    };
    const pay = { name: 'Pay', arguments: { input: input() } };
    const ofMessage = (
      params: Record<string, unknown>,
      change: (body: object) => object,
      more: Asked = {},
    ) => {
      const { headers, body } = messageOf('tools/call', params, more);
      return [headers, JSON.stringify(change(JSON.parse(body)))] as const;
    };
    const [plain, reading] = [(body: object) => body, { name: 'Anything', arguments: {} }];
    const statuses: number[] = [];
    for (const [headers, body] of [
      ofMessage(reading, plain),
      ofMessage({ name: 'Anything' }, plain),
      ofMessage({ name: 'Anything', arguments: { no: 1 } }, plain),
      ofMessage(pay, plain),
      ofMessage(pay, plain, { inputResponses: { confirmation: { action: 'decline' } } }),
      ofMessage({ name: 'Nothing', arguments: {} }, plain),
      ofMessage({ name: 'Anything', arguments: [] }, plain),
      ofMessage({ ...pay, requestState: 1 }, plain),
      ofMessage(pay, plain, { capabilities: {} }),
      ofMessage(reading, plain, { capabilities: [] }),
      ofMessage(reading, ({ ...body }) => ({ ...body, jsonrpc: '1.0' })),
      ofMessage(reading, ({ ...body }) => ({ ...body, id: null })),
      ofMessage(reading, ({ ...body }) => ({ ...body, id: undefined })),
      ofMessage(reading, ({ ...body }) => ({ ...body, result: {} })),
    ]) {
      const short = await post(headers, body);
      // This form of the header is valid too: the SDK decodes it.
      const name = `=?base64?${Buffer.from(headers['Mcp-Name'] ?? '').toString('base64')}?=`;
      expect([body, ...short]).toEqual([body, ...(await post({ ...headers, 'Mcp-Name': name }, body))]);
      statuses.push(short[0]);
    }
    expect(statuses).toEqual([...Array(8).fill(200), 400, 400, 400, 400, 202, 400]);
    expect(agents.payments()).toBe(0);
  });

  test('whose headers do not describe it is refused, and nothing is executed', async () => {
    await using agents = await startAgents();
    const { headers, body } = messageOf('tools/call', {
      name: 'Balance',
      arguments: { account: 'alice-current' },
    });
    const changes: readonly Readonly<Record<string, string>>[] = [
      { 'Mcp-Name': 'Pay' },
      { 'Mcp-Method': 'tools/list' },
      { 'MCP-Protocol-Version': '2025-06-18' },
      { 'MCP-Protocol-Version': '2099-01-01' },
    ];
    for (const change of changes) {
      const response = await fetch(agents.url, {
        method: 'POST',
        headers: { ...headers, ...alice, ...change },
        body,
      });
      expect([change, response.status]).toEqual([change, 400]);
      expect(await response.json()).toMatchObject({ error: { code: -32020 } });
    }
    for (const name of ['Mcp-Name', 'Mcp-Method', 'MCP-Protocol-Version']) {
      const { [name]: _, ...others } = headers;
      const response = await fetch(agents.url, { method: 'POST', headers: { ...others, ...alice }, body });
      expect([name, response.status]).toEqual([name, 400]);
      expect(await response.json()).toMatchObject({ error: { code: -32020 } });
    }
    expect(agents.bank.recorder.calls).toEqual([]);
  });

  test('of a tool that is not there is an error of the protocol', async () => {
    await using agents = await startAgents();
    const response = await send(agents.url, 'tools/call', { name: 'Nothing', arguments: {} });
    expect(await response.json()).toMatchObject({
      error: { code: -32602, message: 'There is no tool of this name.' },
    });
  });

  test('of the protocol of 2025 reads; its payments are refused', async () => {
    await using agents = await startAgents();
    const ask = async (method: string, params: object) => {
      const response = await fetch(agents.url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'Ocp-Apim-Subscription-Key': 'sandbox-key',
          'Auth-Provider-Name': 'sandbox',
          'Auth-ID': 'alice',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
      });
      expect(response.status).toBe(200);
      const text = await response.text();
      return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result;
    };
    const clientInfo = { name: 'old', version: '1' };
    const elicitation = { capabilities: { elicitation: {} } };
    const begun = await ask('initialize', { protocolVersion: '2025-06-18', clientInfo, ...elicitation });
    expect(begun).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'bankql' } });
    expect((await ask('tools/list', {})).tools).toHaveLength(4);
    const read = await ask('tools/call', { name: 'Balance', arguments: { account: 'alice-current' } });
    expect(answerOf(read).data.bank.account.balance.currency).toBe('EUR');
    const paid = await ask('tools/call', { name: 'Pay', arguments: { input: input() } });
    expect(paid).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('2026-07-28') }] });
    expect(agents.payments()).toBe(0);
  });
});

describe('a folder', () => {
  const pay = (
    selection: string,
    { variables = '$key: String!', key = '$key', before = '', after = '' } = {},
  ) =>
    `mutation Pay(${variables}) { ${before} makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: ${key} }) ${after} { ${selection} } }`;

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['without documents', { 'a.txt': 'x' }, 'holds no file'],
    ['with what is no GraphQL', { 'a.graphql': 'query {' }, 'a.graphql: '],
    [
      'with a field that is not there',
      { 'a.graphql': 'query A { nothing }' },
      'a.graphql: Cannot query field',
    ],
    ['with no operation', { 'a.graphql': 'fragment F on Query { __typename }' }, 'a.graphql: '],
    [
      'with an operation without a name',
      { 'a.graphql': '{ bank { bankId } }' },
      'a.graphql: an operation has no name',
    ],
    [
      'with a name twice',
      { 'a.graphql': 'query A { __typename }', 'b.graphql': 'query A { __typename }' },
      'b.graphql: A: a.graphql has an operation of this name',
    ],
    [
      'that introspects',
      { 'a.graphql': 'query A { ...F } fragment F on Query { __schema { queryType { name } } }' },
      'a.graphql: A: a tool may not introspect',
    ],
    ['with a long name', { 'a.graphql': `query ${'a'.repeat(65)} { __typename }` }, '64 characters'],
    [
      'with a mutation that is no payment',
      {
        'a.graphql':
          'mutation A($input: PutCustomerInput!) { putCustomer(input: $input) { clientMutationId } }'.replace(
            'clientMutationId',
            '__typename',
          ),
      },
      'a.graphql: A: putCustomer is no payment',
    ],
    [
      'with a payment whose outcome is not seen',
      { 'a.graphql': pay('replayed') },
      'a.graphql: Pay: the outcome has to be seen',
    ],
    [
      'with one whose outcome is conditional',
      {
        'a.graphql': pay('payment { trackId } userErrors @include(if: $seen) { code }', {
          variables: '$key: String!, $seen: Boolean!',
        }),
      },
      'Pay: the outcome has to be seen',
    ],
    [
      'with a literal key',
      {
        'a.graphql': pay('userErrors { code }', { variables: '$x: Int', key: '"k"' }).replace(
          '($x: Int)',
          '',
        ),
      },
      'Pay: the idempotencyKey has to be a variable',
    ],
    [
      'with a default key',
      { 'a.graphql': pay('userErrors { code }', { variables: '$key: String! = "k"' }) },
      'Pay: $key has a default',
    ],
    [
      'with a key that is also the purpose',
      {
        'a.graphql': pay('userErrors { code }').replace(
          'accountId: "a"',
          'accountId: "a", description: $key',
        ),
      },
      'Pay: $key is used 2 times',
    ],
    [
      'with a default input',
      {
        'a.graphql':
          'mutation Pay($input: MakeTransactionInput! = { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "k" }) { makeTransaction(input: $input) { userErrors { code } } }',
      },
      'Pay: $input has a default',
    ],
    [
      'with two root fields',
      { 'a.graphql': pay('userErrors { code }', { before: '__typename' }) },
      'Pay: a mutation of a tool has one field',
    ],
    [
      'with a payment in a fragment',
      {
        'a.graphql': `${pay('userErrors { code }').replace('{ ', '{ ... on Mutation {')} }`.replace(
          '{  makeT',
          '{ makeT',
        ),
      },
      'Pay: a mutation of a tool has one field',
    ],
    [
      'with a directive on the payment',
      { 'a.graphql': pay('userErrors { code }', { after: '@include(if: true)' }) },
      'Pay: the payment may have no directive',
    ],
  ])('%s is refused, with the file and the operation', async (_what, texts, why) => {
    using folder = documentsFolder(texts);
    await expect(load(folder.path)).rejects.toThrow(why);
    await expect(load(folder.path)).rejects.toThrow(`MCP_DOCUMENTS=${folder.path} cannot be used: `);
  });

  test('that is not there is refused; other files in it are ignored', async () => {
    await expect(load('/nowhere')).rejects.toThrow(
      'MCP_DOCUMENTS=/nowhere cannot be used: the folder cannot be read (ENOENT)',
    );
    using folder = documentsFolder({ 'a.graphql': 'query B { __typename } query A { __typename }' });
    writeFileSync(join(folder.path, 'README.md'), '# Tools');
    // Hidden files of editors and of macOS.
    for (const hidden of ['.#a.graphql', '._a.graphql', '.graphql'])
      writeFileSync(join(folder.path, hidden), '\0');
    const { byName } = await load(folder.path);
    expect([...byName.keys()]).toEqual(['A', 'B']);
  });
});
