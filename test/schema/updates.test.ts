import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { exact, failuresOf, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import {
  accountRecord,
  branchRecord,
  customerRecord,
  productRecord,
  transactionRecord,
} from '../support/full-records.ts';
import type { RecordingBank, Reply } from '../support/recording-bank.ts';

/** Each update: its read and write, the record as the bank has it, and how to ask for it. */
interface UpdateCase {
  readonly field: string;
  /** What the payload calls the record. */
  readonly node: string;
  readonly ids: string;
  readonly get: string;
  readonly put: string;
  readonly record: object;
  /** The bank's answer to the read. */
  readonly answer: (record: object) => object;
  /** What it takes back of the record as it was read. */
  readonly body: object;
  /** A change, what it makes of the body, and what clears a member. */
  readonly change: string;
  readonly changed: object;
  readonly clear: string;
  readonly cleared: string;
  readonly readBack: string;
  /** A member of the record that every shape has as a text. */
  readonly text: string;
}

const root = '/v1/api/banks/BANK';
const { metadata: _metadata, ...customerBody } = customerRecord;
const product = { ...productRecord, bank_id: ['BANK'] };
const transactionPath = `${root}/accounts/ACC/owner/transactions/TX`;

const cases: readonly UpdateCase[] = [
  {
    field: 'updateCustomer',
    node: 'customer',
    ids: 'customerId: "C"',
    get: `GET ${root}/customers/C`,
    put: `PUT ${root}/customers/C`,
    record: customerRecord,
    answer: (record) => record,
    body: customerBody,
    change: 'email: "new", dateValues: [{ key: "k", value: "v" }, { key: "alone" }]',
    changed: { email: 'new', date_values: [{ key: 'k', string: 'v' }, { key: 'alone' }] },
    clear: 'faceImage: null',
    cleared: 'face_image',
    readBack: 'bank { customer(customerId: "C") { version } }',
    text: 'legal_name',
  },
  {
    field: 'updateAccount',
    node: 'account',
    ids: 'accountId: "ACC"',
    get: `GET ${root}/accounts/ACC/owner/views`,
    put: `PUT ${root}/accounts/ACC`,
    record: accountRecord,
    answer: (record) => ({ accounts: [record] }),
    body: accountRecord,
    change: 'label: "new", balance: { currency: "USD" }',
    changed: { label: 'new', balance: { currency: 'USD', amount: exact('9007199254740993.250') } },
    clear: 'iban: null',
    cleared: 'IBAN',
    readBack: 'bank { account(accountId: "ACC") { version } }',
    text: 'label',
  },
  {
    field: 'updateBranch',
    node: 'branch',
    ids: 'branchId: "branch-id"',
    get: `GET ${root}/branches`,
    put: `PUT ${root}/branches/branch-id`,
    record: {
      ...branchRecord,
      location: { latitude: exact('37.979450'), longitude: exact('1.0000000000000000001') },
    },
    answer: (record) => ({ branches: [{ acceptsDeposits: true, id: 'other' }, record] }),
    body: {
      ...branchRecord,
      location: { latitude: exact('37.979450'), longitude: exact('1.0000000000000000001') },
    },
    change: 'bankName: "new", address: { line1: "new", line2: null }',
    changed: {
      bank: 'new',
      address: {
        city: 'city',
        country: 'country',
        line_1: 'new',
        line_3: 'line-3',
        postcode: 'postcode',
        state: 'state',
      },
    },
    clear: 'meta: null',
    cleared: 'meta',
    readBack: 'bank { branch(branchId: "branch-id") { version } }',
    text: 'name',
  },
  {
    field: 'updateProduct',
    node: 'product',
    ids: 'productId: "product-id"',
    get: `GET ${root}/products/product-id`,
    put: `PUT ${root}/products`,
    record: product,
    answer: (record) => record,
    body: { ...product, bank_id: 'BANK' },
    change: 'name: "new", meta: []',
    changed: { name: 'new', meta: [] },
    clear: 'moreInfoUrl: null',
    cleared: 'more_info_url',
    readBack: 'bank { product(productId: "product-id") { version } }',
    text: 'name',
  },
  {
    field: 'annotateTransaction',
    node: 'transaction',
    ids: 'accountId: "ACC", transactionId: "TX", metadataType: "M"',
    get: `GET ${transactionPath}/transaction`,
    put: `PUT ${transactionPath}/metadata/M`,
    record: transactionRecord,
    answer: (record) => record,
    body: transactionRecord,
    change: 'comments: "new", tags: null',
    changed: { metadata: { comments: 'new', narrative: 'narrative', where: 'where' } },
    clear: 'comments: null, narrative: null, tags: null, where: null',
    cleared: 'metadata',
    readBack: 'bank { account(accountId: "ACC") { transaction(transactionId: "TX") { version } } }',
    text: 'uuid',
  },
];

/** The numbers of a value as sentJson gives those of a body. */
const numbered = (value: object): unknown => sentJson({ body: JSON.stringify(value) } as never);

const update = (it: UpdateCase, changes: string, selection = 'trackId', ifVersion?: string) =>
  `${it.field}(input: { ${it.ids}, changes: { ${changes} }${
    ifVersion === undefined ? '' : `, ifVersion: "${ifVersion}"`
  } }) { ${selection} }`;

/** A bank that has the record, and answers a write with what it was sent. */
function serve(bank: RecordingBank, it: UpdateCase): { record: object } {
  const state = { record: it.record };
  bank.on(it.get, () => ({ body: it.answer(state.record) }));
  bank.on(it.put, ({ body }): Reply => ({ body: it.field === 'updateProduct' ? asAnswered(body) : body }));
  return state;
}

/** A product's body with its bank as a list, as answers have it. */
const asAnswered = (body: string) => body.replace('"bank_id":"BANK"', '"bank_id":["BANK"]');

const versionIn = (data: unknown): string => /"version":"([^"]+)"/.exec(JSON.stringify(data))?.[1] ?? '';

describe.each(cases)('$field', (it) => {
  test('reads the record once, and writes back all of it with what the changes name', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(
      `mutation { ${update(it, it.change, `trackId ${it.node} { id version }`)} }`,
    );
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    const [, put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual(numbered({ ...it.body, ...it.changed }));
    expect(put?.headers['track-id']).toBe(/"trackId":"([^"]+)"/.exec(JSON.stringify(result.data))?.[1]);
  });

  test('writes back the same where the changes name nothing', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    await fixture.ask(`mutation { ${update(it, '')} }`);
    const [, put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual(numbered(it.body));
  });

  test('clears what is null', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(`mutation { ${update(it, it.clear)} }`);
    expect(result.errors).toBeUndefined();
    const [, put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual(
      numbered(Object.fromEntries(Object.entries(it.body).filter(([name]) => name !== it.cleared))),
    );
  });

  test('writes where `ifVersion` is the version that was read, and gives the next one', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, it);
    const version = versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
    const written = await fixture.ask(
      `mutation { ${update(it, it.change, `conflict { version } ${it.node} { version }`, version)} }`,
    );
    expect(written.errors).toBeUndefined();
    expect(written.data).toMatchObject({ [it.field]: { conflict: null } });
    const next = versionIn(written.data);
    expect(next).not.toBe(version);
    const [, , put] = fixture.bank.calls;
    state.record = Object(
      JSON.parse(put === undefined ? '{}' : asAnswered(put.body), (_key, value, { source }) =>
        typeof value === 'number' ? exact(source ?? '') : value,
      ),
    );
    // A customer's metadata is in no body.
    if (it.node === 'customer') state.record = { ...state.record, metadata: undefined };
    expect(versionIn((await fixture.ask(`{ ${it.readBack} }`)).data)).toBe(next);
  });

  test('writes nothing where the record has another version, and gives it', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const version = versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
    const result = await fixture.ask(
      `mutation { ${update(it, it.change, `${it.node} { id } trackId conflict { id version }`, 'other')} }`,
    );
    expect(failuresOf(result)).toEqual(
      [`${it.field}.${it.node} CONFLICT`, `${it.field}.trackId CONFLICT`].sort(),
    );
    expect(result.errors?.[0]?.extensions).toMatchObject({ version, retryable: false });
    expect(result.data).toMatchObject({
      [it.field]: { [it.node]: null, trackId: null, conflict: { version } },
    });
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test('never keeps quiet about a conflict: without `conflict` the field itself fails', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(`mutation { ${update(it, it.change, '__typename', 'other')} }`);
    expect(failuresOf(result)).toEqual([`${it.field} CONFLICT`]);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  test('writes nothing where any of the record is broken, also what is not changed', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, it);
    state.record = { ...it.record, [it.text]: 7 };
    const result = await fixture.ask(`mutation { ${update(it, it.change)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BANK_BAD_RESPONSE`]);
    expect(result.errors?.[0]?.message).toMatch(/nothing was written/i);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  test('writes nothing where the record cannot be read', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    fixture.bank.on(it.get, { status: 404, body: 'no such' });
    const result = await fixture.ask(`mutation { ${update(it, it.change)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} NOT_FOUND`]);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  test('reads past what was read before, in this operation and by others', async () => {
    await using fixture = await startBankqlFixture({ bankOptions: { publicCacheTtlMs: 60_000 } });
    serve(fixture.bank, it);
    // Three times the same bytes: whatever can be kept of them is.
    for (let time = 0; time < 3; time++) await fixture.ask(`{ ${it.readBack} }`);
    const before = fixture.bank.calls.length;
    await fixture.ask(`mutation { ${update(it, it.change)} again: ${update(it, it.change)} }`);
    expect(fixture.bank.lines().slice(before)).toEqual([it.get, it.put, it.get, it.put]);
    // What was kept for others is of before.
    await fixture.ask(`{ ${it.readBack} }`);
    expect(fixture.bank.lines().slice(before + 4)).toEqual([it.get]);
  });

  test('waits for another update of the same record, whoever asks for it', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const held = Promise.withResolvers<void>();
    fixture.bank.on(it.put, async ({ body }) => {
      await held.promise;
      return { body: asAnswered(body) };
    });
    const asOther = {
      'Ocp-Apim-Subscription-Key': 'another-key',
      'Auth-Provider-Name': 'p',
      'Auth-ID': 'another',
    };
    const both = [
      fixture.ask(`mutation { ${update(it, it.change)} }`),
      fixture.ask(`mutation { ${update(it, it.clear)} }`, {}, asOther),
    ];
    while (fixture.bank.calls.length < 2) await delay(2);
    await delay(20);
    expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    held.resolve();
    for (const { errors } of await Promise.all(both)) expect(errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get, it.put]);
  });

  test('counts two REST calls, and is refused before it runs where it may make only one', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 3 } });
    serve(fixture.bank, it);
    const once = `mutation { ${update(it, it.change, `trackId ${it.node} { id version } conflict { id }`)} }`;
    expect((await fixture.ask(once)).errors).toBeUndefined();
    const twice = `mutation { ${update(it, it.change)} again: ${update(it, it.change)} }`;
    expect(failuresOf(await fixture.ask(twice))).toEqual(['request LIMIT_EXCEEDED']);
    expect(fixture.bank.lines()).toEqual([it.get, it.put]);
  });

  test('makes no call where the caller could not write', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(
      `mutation { ${update(it, it.change)} }`,
      {},
      { 'Ocp-Apim-Subscription-Key': 'key' },
    );
    expect(failuresOf(result)).toEqual([`${it.field} MISSING_CREDENTIALS`]);
    expect(fixture.bank.lines()).toEqual([]);
  });
});

const [customer, account, branch, products, transaction] = cases as [
  UpdateCase,
  UpdateCase,
  UpdateCase,
  UpdateCase,
  UpdateCase,
];

describe('what a bank requires', () => {
  const refusals: readonly (readonly [string, UpdateCase, object, string, RegExp])[] = [
    [
      'a branch that accepts deposits or not',
      branch,
      branchRecord,
      'acceptsDeposits: null',
      /acceptsDeposits/,
    ],
    ['an address with a city', branch, branchRecord, 'address: { city: null }', /address\.city/],
    [
      'a new address with one',
      branch,
      { acceptsDeposits: true, id: 'branch-id' },
      'address: { line1: "l" }',
      /address\.city/,
    ],
    ['an account with a balance', account, accountRecord, 'balance: null', /balance/],
    ['the amount of it', account, accountRecord, 'balance: { amount: null }', /balance\.amount/],
    [
      'an account that a view hides nothing of',
      account,
      { id: 'ACC', balance: { currency: 'EUR' } },
      'label: "l"',
      /viewId/,
    ],
    ['a product with a bank', products, product, 'bankIds: null', /bank_id/],
    ['a product with one bank', products, productRecord, 'name: "n"', /several banks/],
    ['one at a time', products, product, 'bankIds: ["A", "B"]', /one bank/],
    [
      'who approved a transaction',
      transaction,
      { id: 'TX', details: {} },
      'tags: "t"',
      /approved_by_ip_address/,
    ],
  ];

  test.each(refusals)('%s is not taken away: nothing is written', async (_, it, record, changes, said) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it).record = record;
    const result = await fixture.ask(`mutation { ${update(it, changes)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BAD_USER_INPUT`]);
    expect(result.errors?.[0]?.message).toMatch(said);
    expect(fixture.bank.lines().filter((line) => line.startsWith('PUT'))).toEqual([]);
  });

  test('of what is not there, changes that only keep and clear make nothing', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, branch).record = { acceptsDeposits: false, id: 'branch-id' };
    await fixture.ask(`mutation { ${update(branch, 'address: { line1: null }, location: {}')} }`);
    expect(JSON.parse(fixture.bank.calls[1]?.body ?? '')).toEqual({
      acceptsDeposits: false,
      id: 'branch-id',
    });
  });

  test('a product of no bank gets that of the path, and one of several the one that is named', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, products);
    state.record = { name: 'n' };
    await fixture.ask(`mutation { ${update(products, '')} }`);
    state.record = productRecord;
    await fixture.ask(`mutation { ${update(products, 'bankIds: ["product-bank-id-2"]')} }`);
    const bodies = fixture.bank.calls
      .filter(({ method }) => method === 'PUT')
      .map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([
      { name: 'n', id: 'product-id', bank_id: 'BANK' },
      { ...productRecord, bank_id: 'product-bank-id-2' },
    ]);
  });
});

describe('annotateTransaction', () => {
  const approved = { details: { approved_by_ip_address: 'ip' }, id: 'TX' };
  const annotate = (input: string) =>
    `mutation { annotateTransaction(input: { accountId: "ACC", transactionId: "TX", ${input} }) { trackId } }`;

  test.each([
    ['tags: "t"', { metadata: { comments: '', tags: 't' } }, 'tags'],
    ['comments: "c"', { metadata: { comments: 'c' } }, 'comments'],
    ['where: null', {}, 'where'],
  ])(
    'where there is no metadata, { %s } makes %j, of the type that it names',
    async (changes, made, type) => {
      await using fixture = await startBankqlFixture();
      serve(fixture.bank, transaction).record = approved;
      fixture.bank.otherwise(({ body }) => ({ body }));
      expect((await fixture.ask(annotate(`changes: { ${changes} }`))).errors).toBeUndefined();
      const [, put] = fixture.bank.calls;
      expect(put?.path).toBe(`${transactionPath}/metadata/${type}`);
      expect(JSON.parse(put?.body ?? '')).toEqual({ ...approved, ...made });
    },
  );

  test('needs a type where the changes do not name one member', async () => {
    await using fixture = await startBankqlFixture();
    for (const changes of ['', 'tags: "t", where: "w"'])
      expect(failuresOf(await fixture.ask(annotate(`changes: { ${changes} }`)))).toEqual([
        'annotateTransaction BAD_USER_INPUT',
      ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('takes who approved it only where the bank does not say', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, transaction);
    state.record = { id: 'TX', details: { status: 's' } };
    const asked = annotate('metadataType: "M", approvedByIpAddress: "given", changes: { tags: null }');
    await fixture.ask(asked);
    state.record = approved;
    await fixture.ask(asked);
    const bodies = fixture.bank.calls
      .filter(({ method }) => method === 'PUT')
      .map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([
      { id: 'TX', details: { status: 's', approved_by_ip_address: 'given' } },
      approved,
    ]);
  });
});

describe('a version', () => {
  const versionOf = async (it: UpdateCase, answer: string | object, query = it.readBack) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: answer });
    const result = await fixture.ask(`{ ${query} }`);
    return result.errors === undefined ? versionIn(result.data) : failuresOf(result);
  };

  test('is the same in whatever order the members come, with members that nobody knows, and with nulls', async () => {
    const reversed = Object.fromEntries(Object.entries(customerRecord).reverse());
    const version = await versionOf(customer, customerRecord);
    expect(await versionOf(customer, { unknown: 1, ...reversed })).toBe(version);
    expect(await versionOf(customer, { email: 'e' })).toBe(
      await versionOf(customer, { email: 'e', metadata: null }),
    );
  });

  test.each(cases)('of $field is another one where any member is another', async (it) => {
    const whole = await versionOf(it, it.answer(it.record));
    const versions = [whole];
    for (const member of Object.keys(it.record)) {
      if (member === 'id' || (member === 'balance' && it === account) || member === 'acceptsDeposits')
        continue;
      versions.push(await versionOf(it, it.answer({ ...it.record, [member]: undefined })));
    }
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('of an amount tells digits apart, and a product is the same alone and in a list', async () => {
    const balance = (amount: string) => ({
      accounts: [{ ...accountRecord, balance: { amount: exact(amount) } }],
    });
    expect(await versionOf(account, balance('1.1'))).not.toBe(await versionOf(account, balance('1.10')));
    const list = 'bank { products(filter: { id: "Q" }) { nodes { version } } }';
    expect(await versionOf(products, { product: [{ ...product, bank_id: 'BANK' }] }, list)).toBe(
      await versionOf(products, product),
    );
  });

  test('is null with an error where the record is broken', async () => {
    expect(await versionOf(customer, { email: 7 })).toEqual(['bank.customer.version BANK_BAD_RESPONSE']);
  });
});
