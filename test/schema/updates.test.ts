import { describe, expect, test, vi } from 'vitest';
import { branch as branchShape } from '../../src/contract/branch.ts';
import { credentials } from '../support/bankql.ts';
import {
  type BankqlFixture,
  exact,
  failuresOf,
  sentJson,
  shareBankqlFixture,
  startBankqlFixture,
} from '../support/bankql-fixture.ts';
import { accountRecord, branchRecord, customerRecord, productRecord } from '../support/full-records.ts';
import type { Reply } from '../support/recording-bank.ts';
import {
  account,
  asAnswered,
  branch,
  customer,
  numbered,
  product,
  products,
  serve,
  transaction,
  transactionPath,
  type UpdateCase,
  update,
  updateCases,
  versionIn,
} from '../support/update-cases.ts';

/**
 * Promise 7: an update keeps the members that it does not change, writes no invalid, hidden or other record, and `ifVersion` is
 * checked.
 */

const shared = await shareBankqlFixture();

/** Sets up a bank that has the record of this case. */
function serveCase(it: UpdateCase, fixture: BankqlFixture = shared) {
  const { ask, bank } = fixture;
  return {
    ...fixture,
    state: serve(bank, it),
    update: (changes: string, selection?: string, ifVersion?: string) =>
      ask(`mutation { ${update(it, changes, selection, ifVersion)} }`),
    version: async () => versionIn((await ask(`{ ${it.readBack} }`)).data),
    /** Delays all writes until the returned function is called. */
    hold() {
      const held = Promise.withResolvers<void>();
      bank.on(it.put, async ({ body }) => {
        await held.promise;
        return { body: asAnswered(it, body) };
      });
      return held.resolve;
    },
    /** The body of the last write, with the digits of its numbers. */
    sent() {
      const put = bank.calls.findLast(({ method }) => method === 'PUT');
      return put && sentJson(put);
    },
    /** The bodies of all writes. */
    written: () => bank.calls.filter(({ method }) => method === 'PUT').map(({ body }) => JSON.parse(body)),
  };
}
const publicCache = { bankOptions: { publicCacheTtlMs: 60_000 } };

/** Reads after which nothing is written: the bank's answer, and the error. */
const badReads: readonly (readonly [string, (it: UpdateCase) => Reply, string, RegExp])[] = [
  [
    'a broken value, also of what is not changed',
    (it) => ({ body: it.answer({ ...it.record, [it.text]: true }) }),
    'BANK_BAD_RESPONSE',
    /nothing was written/i,
  ],
  ['no record', () => ({ status: 404, body: 'no such' }), 'NOT_FOUND', /./],
  [
    'a part of it',
    (it) => ({ status: 206, body: it.answer(it.record) }),
    'BANK_BAD_RESPONSE',
    /is only a part/,
  ],
  [
    'an error beside it',
    (it) => ({ body: { ...it.answer(it.record), error: 'away' } }),
    'BANK_REJECTED',
    /away/,
  ],
  ['an error in it', (it) => ({ body: it.answer({ ...it.record, error: 'away' }) }), 'BANK_REJECTED', /./],
];

describe.each(updateCases)('$field', (it) => {
  test('reads the record once, and writes back all of it with what the changes name', async () => {
    const fixture = serveCase(it);
    // A request may not contain members that the specification does not have.
    fixture.state.record = { ...it.record, unknown: { member: 1 } };
    const result = await fixture.update(it.change, `trackId ${it.node} { id version }`);
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    expect(fixture.sent()).toEqual(numbered({ ...it.body, ...it.changed }));
    expect(fixture.bank.calls[1]?.headers['track-id']).toBe(
      /"trackId":"([^"]+)"/.exec(JSON.stringify(result.data))?.[1],
    );
  });

  test('clears what is null', async () => {
    const fixture = serveCase(it);
    expect((await fixture.update(it.clear)).errors).toBeUndefined();
    const { [it.cleared]: _, ...kept } = { ...it.body } as Record<string, unknown>;
    expect(fixture.sent()).toEqual(numbered(kept));
  });

  test('makes no call if the changes name nothing, or the caller could not write', async () => {
    const fixture = serveCase(it);
    expect(failuresOf(await fixture.update(''))).toEqual([`${it.field} BAD_USER_INPUT`]);
    const headers = { 'Ocp-Apim-Subscription-Key': 'key' };
    expect(failuresOf(await fixture.ask(`mutation { ${update(it, it.change)} }`, {}, headers))).toEqual([
      `${it.field} MISSING_CREDENTIALS`,
    ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('writes if `ifVersion` is the version that was read, and answers the next one', async () => {
    const fixture = serveCase(it);
    const version = await fixture.version();
    const result = await fixture.update(it.change, `${it.node} { version }`, version);
    expect(result.errors).toBeUndefined();
    const next = versionIn(result.data);
    expect(next).not.toBe(version);
    const sent = asAnswered(it, fixture.bank.calls.at(-1)?.body ?? '');
    fixture.state.record = Object(
      JSON.parse(sent, (_key, value, { source }) =>
        typeof value === 'number' ? exact(source ?? '') : value,
      ),
    );
    expect(await fixture.version()).toBe(next);
  });

  test('with another `ifVersion` is CONFLICT, writes nothing, and outdates what was read before', async () => {
    await using started = await startBankqlFixture(publicCache);
    const fixture = serveCase(it, started);
    const before = await fixture.version();
    fixture.state.record = { ...it.record, [it.text]: 'changed by another process' };
    const { data, errors } = await fixture.update(it.change, 'trackId', before);
    expect(data).toEqual({ [it.field]: null });
    expect(errors).toMatchObject([
      { path: [it.field], extensions: { code: 'CONFLICT', version: expect.any(String), retryable: false } },
    ]);
    expect(await fixture.version()).toBe(errors?.[0]?.extensions.version);
    expect(fixture.bank.lines()).toEqual([it.get, it.get, it.get]);
  });

  test.each(badReads)('writes nothing if it reads %s', async (_, reply, code, message) => {
    const fixture = serveCase(it);
    fixture.bank.on(it.get, reply(it));
    const { errors } = await fixture.update(it.change);
    expect(errors).toMatchObject([
      { path: [it.field], message: expect.stringMatching(message), extensions: { code } },
    ]);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  const [another, other] =
    it === customer
      ? ['the record without what no request may contain', { metadata: undefined }]
      : ['another id', { id: 'another' }];
  test.each<[string, (sent: object) => object]>([
    ['{}', () => ({})],
    ['a part of the record', (sent) => Object.fromEntries(Object.entries(sent).slice(0, 2))],
    [another, (sent) => ({ ...sent, ...other })],
  ])('is answered with %s: the record is read again, if a selected field needs it', async (_, answerOf) => {
    const fixture = serveCase(it);
    fixture.bank.on(it.put, ({ body }) => ({ body: answerOf(JSON.parse(asAnswered(it, body))) }));
    const written = await fixture.update(it.change, `${it.node} { version }`);
    expect(written.errors).toBeUndefined();
    await fixture.update(it.change, `${it.node} { id } trackId`);
    expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get, it.get, it.put]);
    expect(versionIn(written.data)).toBe(await fixture.version());
  });

  test('fails if the bank answers the write with an error beside the record', async () => {
    const fixture = serveCase(it);
    fixture.bank.on(it.put, ({ body }) => ({ body: { ...JSON.parse(body), error: 'not saved' } }));
    const result = await fixture.update(it.change);
    expect(failuresOf(result)).toEqual([`${it.field} BANK_REJECTED`]);
    expect(result.errors?.[0]?.message).toMatch(/may have been executed all the same: not saved$/);
  });

  test('reads past what was read before, in this operation and by others', async () => {
    await using started = await startBankqlFixture(publicCache);
    const fixture = serveCase(it, started);
    // The same bytes three times, so that everything that can be cached is cached.
    for (let time = 0; time < 3; time++) await fixture.version();
    fixture.bank.calls.length = 0;
    await fixture.ask(`mutation { ${update(it, it.change)} again: ${update(it, it.change)} }`);
    await fixture.version();
    expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get, it.put, it.get]);
  });

  test('takes turns with another caller’s update of the same record, and reads what that wrote', async () => {
    const fixture = serveCase(it);
    const release = fixture.hold();
    const asOther = { ...credentials, 'Ocp-Apim-Subscription-Key': 'another-key', 'Auth-ID': 'another' };
    const both = [
      fixture.update(it.change),
      fixture.ask(`mutation { ${update(it, it.clear)} }`, {}, asOther),
    ];
    await expect.poll(() => fixture.bank.lines().sort()).toEqual([it.get, it.get, it.put]);
    release();
    for (const { errors } of await Promise.all(both)) expect(errors).toBeUndefined();
    expect(fixture.bank.lines().slice(3)).toEqual([it.get, it.put]);
  });

  test('counts two REST calls', async () => {
    await using started = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 1 } });
    const fixture = serveCase(it, started);
    expect(failuresOf(await fixture.update(it.change))).toEqual([`${it.field} CALL_BUDGET_EXCEEDED`]);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });
});

/** The update, the record in the bank's own form, and the part of it that is written back: undefined for none. */
test.each<[UpdateCase, object, object]>([
  [
    account,
    { balance: { currency: 'EUR', amount: '-.640' }, owners: '', type: 'current', number: 12 },
    {
      balance: { currency: 'EUR', amount: exact('-0.640') },
      owners: undefined,
      type: ['current'],
      number: '12',
    },
  ],
  [
    branch,
    { acceptsDeposits: 'false', lobby: { is24Hours: 'true' }, location: '', meta: [] },
    { acceptsDeposits: false, lobby: { is24Hours: true }, location: undefined, meta: undefined },
  ],
  [
    customer,
    { face_image: [], date_values: '', legal_name: '' },
    { face_image: undefined, date_values: undefined, legal_name: '' },
  ],
  [
    transaction,
    {
      details: { approved_by_ip_address: 'ip', value: { amount: '+.1' }, new_balance: [] },
    },
    { details: { approved_by_ip_address: 'ip', value: { amount: exact('0.1') } } },
  ],
])('what the bank writes in its own way is written back as what it means: %#', async (it, own, meant) => {
  const fixture = serveCase(it);
  fixture.state.record = { ...it.record, ...own };
  const { errors } = await fixture.update(it.same);
  expect(errors).toBeUndefined();
  expect(fixture.sent()).toEqual(numbered({ ...it.body, ...meant }));
});

test.each(['', []])(
  'a balance that holds nothing (%j) is not written back: the bank requires one',
  async (balance) => {
    const fixture = serveCase(account);
    fixture.state.record = { ...account.record, balance };
    expect(failuresOf(await fixture.update(account.same))).toEqual(['updateAccount BAD_USER_INPUT']);
    expect(fixture.written()).toEqual([]);
  },
);

test.each<[UpdateCase, string, object]>([
  [account, 'swiftBic', { swift_bic: null, swiftBic: 'BIC' }],
  [branch, 'address.Line-1', { address: { city: 'c', 'Line-1': 'l' } }],
  [
    customer,
    'date_values.String',
    {
      date_values: [
        { key: 'k', string: 's' },
        { key: 'k', String: 's' },
      ],
    },
  ],
])(
  'a record with a member in another spelling is not written, since its value would be lost: %#',
  async (it, name, own) => {
    const fixture = serveCase(it);
    fixture.state.record = { ...it.record, ...own };
    const { errors } = await fixture.update(it.same);
    expect(errors).toMatchObject([{ extensions: { code: 'BANK_BAD_RESPONSE' } }]);
    expect(errors?.[0]?.message).toMatch(new RegExp(`a member ${name},.*Nothing was written\\.$`));
    expect(fixture.bank.lines()).toEqual([it.get]);
  },
);

test('a member in another spelling beside the member itself, or without a value, is left out of an update', async () => {
  const fixture = serveCase(account);
  fixture.state.record = { ...account.record, swiftBic: 'account-swift-bic', Label: null };
  expect((await fixture.update(account.same)).errors).toBeUndefined();
  expect(fixture.sent()).toEqual(numbered(account.body));
});

describe('another record than the requested one', () => {
  const own = { ...account.record, id: 'ACC' };
  const foreign = { ...own, bank_id: 'OTHER', label: 'foreign' };

  test.each<[string, UpdateCase, object, string, RegExp]>([
    [
      'an account with another id',
      account,
      { accounts: [{ ...own, id: 'another' }] },
      'getAccountsScope',
      /with the id another,/,
    ],
    [
      'a product with another id',
      products,
      { ...product, id: 'another' },
      'getProduct',
      /with the id another,/,
    ],
    [
      'a transaction with one',
      transaction,
      { ...transaction.record, id: 'another' },
      'getTransaction',
      /another,/,
    ],
    [
      'two branches with the id',
      branch,
      { branches: [branch.record, { ...branch.record, name: 'second' }] },
      'getBranches',
      /several branches with the id branch-id/,
    ],
    [
      'two accounts with the id',
      account,
      { accounts: [own, { ...own, bank_id: null }] },
      'getAccountsScope',
      /several accounts with the id ACC/,
    ],
  ])('is not written: %s', async (_, it, answer, operation, message) => {
    const fixture = serveCase(it);
    fixture.bank.on(it.get, { body: answer });
    for (const ifVersion of [undefined, 'other']) {
      const { errors } = await fixture.update(it.change, 'trackId', ifVersion);
      expect(errors).toMatchObject([{ extensions: { code: 'BANK_BAD_RESPONSE', operation } }]);
      expect(errors?.[0]?.message).toMatch(new RegExp(`${message.source}.*Nothing was written\\.$`));
    }
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test('is not found if only another bank’s account has the id: it is neither shown nor written', async () => {
    const fixture = serveCase(account);
    fixture.bank.on(account.get, { body: { accounts: [{ ...own, id: 'X' }, foreign] } });
    expect(failuresOf(await fixture.update('number: "new"'))).toEqual(['updateAccount NOT_FOUND']);
    const read = await fixture.ask('{ bank { account(accountId: "ACC") { label } } }');
    expect(failuresOf(read)).toEqual(['bank.account NOT_FOUND']);
    expect(fixture.bank.lines()).toEqual([account.get, account.get]);
  });

  test.each(['', null])('cannot be known if the record’s id is %j: it is written', async (id) => {
    for (const it of [account, products, transaction]) {
      const fixture = serveCase(it);
      fixture.bank.calls.length = 0;
      fixture.state.record = { ...it.record, id };
      expect((await fixture.update(it.change)).errors).toBeUndefined();
      expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    }
  });

  test.each([
    ['before the bank’s own', [{ ...own, id: 'X' }, foreign, own], own],
    ['behind the bank’s own', [{ ...own, id: 'X' }, own, foreign], own],
    ['alone: the bank has another code in records than in paths', [foreign], foreign],
  ])('stands %s, which is written', async (_, accounts, written) => {
    const fixture = serveCase(account);
    fixture.bank.on(account.get, { body: { accounts } });
    expect((await fixture.update('number: "new"')).errors).toBeUndefined();
    expect(fixture.sent()).toEqual(numbered({ ...written, number: 'new' }));
  });

  test.each([{ unknown: 'try later' }, { customer_number: null }, { metadata: ['x'] }])(
    'holds nothing of a record at all: %j',
    async (body) => {
      const fixture = serveCase(customer);
      fixture.bank.on(customer.get, { body });
      expect(failuresOf(await fixture.update('email: "e"'))).toEqual(['updateCustomer BANK_BAD_RESPONSE']);
      expect(fixture.bank.lines()).toEqual([customer.get]);
    },
  );
});

test.each([account, transaction])('$field takes turns with an update through another view', async (it) => {
  const through = (line: string) => line.replace('/owner/', '/auditor/').replace('metadata/M', 'metadata/N');
  const other: UpdateCase = {
    ...it,
    ids: `${it.ids.replace('"M"', '"N"')}, viewId: "auditor"`,
    get: through(it.get),
    put: through(it.put),
  };
  const fixture = serveCase(it);
  serve(fixture.bank, other);
  const release = fixture.hold();
  const first = fixture.update(it.change);
  await expect.poll(() => fixture.written()).toHaveLength(1);
  const second = fixture.ask(`mutation { ${update(other, it.clear)} }`);
  await expect.poll(() => fixture.bank.lines()).toEqual([it.get, it.put, other.get]);
  fixture.bank.on(other.put, ({ body }) => ({ body }));
  release();
  for (const { errors } of [await first, await second]) expect(errors).toBeUndefined();
  expect(fixture.bank.lines().slice(3)).toEqual([other.get, other.put]);
});

describe('what the bank requires', () => {
  const least = { acceptsDeposits: true, id: 'branch-id' };
  const hidden = { id: 'ACC', balance: { currency: 'EUR' } };
  const unapproved = { id: 'TX', details: {} };

  /** The record, the changes, the invalid argument if there is one, and the message. */
  test.each<[UpdateCase, object, string, string | null, RegExp]>([
    [branch, branchRecord, 'acceptsDeposits: null', 'acceptsDeposits', /cannot be null/],
    [branch, branchRecord, 'address: { city: null }', 'address.city', /cannot be null/],
    [branch, least, 'address: { line1: "l" }', null, /address\.city/],
    [account, accountRecord, 'label: "l", balance: null', 'balance', /cannot be null/],
    [account, accountRecord, 'balance: { amount: null }', 'balance.amount', /cannot be null/],
    [account, hidden, 'label: "l"', null, /viewId/],
    [products, product, 'bankIds: null', 'bankIds', /cannot be null/],
    [products, product, 'bankIds: ["A", "B"]', null, /one bank/],
    [products, productRecord, 'name: "n"', null, /several banks/],
    [transaction, unapproved, 'tags: "t"', null, /approved_by_ip_address/],
  ])('is not taken away: %#', async (it, record, changes, argument, message) => {
    const fixture = serveCase(it);
    fixture.state.record = record;
    const { errors } = await fixture.update(changes);
    expect(errors).toMatchObject([
      { message: expect.stringMatching(message), extensions: { code: 'BAD_USER_INPUT' } },
    ]);
    if (argument !== null)
      expect(errors?.[0]?.extensions.argument).toEqual(['changes', ...argument.split('.')]);
    expect(fixture.written()).toEqual([]);
  });

  test('is not needed for an object that is not there, and that changes only clear', async () => {
    const fixture = serveCase(branch);
    fixture.state.record = least;
    await fixture.update('address: { line1: null }, location: {}');
    expect(fixture.written()).toEqual([least]);
  });

  test('of a product is the bank of the path if it has none, and the one that is named if it has several', async () => {
    const fixture = serveCase(products);
    fixture.state.record = { name: 'n' };
    await fixture.update('name: "n"');
    fixture.state.record = productRecord;
    await fixture.update('bankIds: ["product-bank-id-2"]');
    expect(fixture.written()).toEqual([
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
    ['tags: ["home", " by month "]', { metadata: { comments: '', tags: 'home,by month' } }, 'tags'],
    ['tags: []', { metadata: { comments: '', tags: '' } }, 'tags'],
    ['comments: "c"', { metadata: { comments: 'c' } }, 'comments'],
    ['where: null', {}, 'where'],
  ])('without metadata, { %s } makes %j, of the type that it names', async (changes, made, type) => {
    const fixture = serveCase(transaction);
    fixture.state.record = approved;
    fixture.bank.otherwise(({ body }) => ({ body }));
    expect((await fixture.ask(annotate(`changes: { ${changes} }`))).errors).toBeUndefined();
    expect(fixture.bank.calls[1]?.path).toBe(`${transactionPath}/metadata/${type}`);
    expect(fixture.written()).toEqual([{ ...approved, ...made }]);
  });

  test('needs a type if the changes do not name one member', async () => {
    const fixture = serveCase(transaction);
    for (const changes of ['', 'tags: "t", where: "w"'])
      expect(failuresOf(await fixture.ask(annotate(`changes: { ${changes} }`)))).toEqual([
        'annotateTransaction BAD_USER_INPUT',
      ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('takes who approved it only if the bank does not say', async () => {
    const fixture = serveCase(transaction);
    const document = annotate('metadataType: "M", approvedByIpAddress: "given", changes: { tags: null }');
    fixture.state.record = { id: 'TX', details: { status: 's' } };
    await fixture.ask(document);
    fixture.state.record = approved;
    await fixture.ask(document);
    expect(fixture.written()).toEqual([
      { id: 'TX', details: { status: 's', approved_by_ip_address: 'given' } },
      approved,
    ]);
  });
});

describe('a version', () => {
  async function versionOf(it: UpdateCase, answer: string | object, query = it.readBack) {
    shared.bank.otherwise({ body: answer });
    const result = await shared.ask(`{ ${query} }`);
    return result.errors === undefined ? versionIn(result.data) : failuresOf(result);
  }

  test('is the same in whatever order the members come, with members that nobody knows, and with nulls', async () => {
    const reversed = Object.fromEntries(Object.entries(customerRecord).reverse());
    const version = await versionOf(customer, customerRecord);
    expect(await versionOf(customer, { unknown: 1, ...reversed })).toBe(version);
    expect(await versionOf(customer, { email: 'e' })).toBe(
      await versionOf(customer, { email: 'e', metadata: null }),
    );
  });

  test('is computed once for each record, however many fields show it', async () => {
    const parsed = vi.spyOn(branchShape, 'parse');
    shared.bank.otherwise({ body: { branches: [branchRecord, { ...branchRecord, id: 'B2' }] } });
    const aliases = Array.from({ length: 15 }, (_, index) => `v${index}: version`).join(' ');
    const { data, errors } = await shared.ask(`{ bank { branches { nodes { ${aliases} } } } }`);
    expect(errors).toBeUndefined();
    const [first, second] = Object(data).bank.branches.nodes.map(
      (node: object) => new Set(Object.values(node)),
    );
    expect([first.size, second.size]).toEqual([1, 1]);
    expect(parsed).toHaveBeenCalledTimes(2);
    parsed.mockRestore();
  });

  test.each(updateCases)('of $field is another one if any member is another', async (it) => {
    const required = ['id', 'balance', 'acceptsDeposits'];
    const members = Object.keys(it.record).filter((member) => !required.includes(member));
    const records = members.map((member) => ({ ...it.record, [member]: undefined }));
    const versions: unknown[] = [];
    for (const record of [it.record, ...records]) versions.push(await versionOf(it, it.answer(record)));
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('tells the digits of an amount apart; that of a product is the same alone and in a list', async () => {
    const balance = (amount: string) => ({
      accounts: [{ ...accountRecord, balance: { amount: exact(amount) } }],
    });
    expect(await versionOf(account, balance('1.1'))).not.toBe(await versionOf(account, balance('1.10')));
    const list = 'bank { products(filter: { id: "Q" }) { nodes { version } } }';
    expect(await versionOf(products, { product: [{ ...product, bank_id: 'BANK' }] }, list)).toBe(
      await versionOf(products, product),
    );
  });

  test('is null with an error if the record is broken', async () => {
    expect(await versionOf(customer, { email: true })).toEqual(['bank.customer.version BANK_BAD_RESPONSE']);
  });
});

test('an update of a caller who may not read the record delays nobody else', async () => {
  const fixture = serveCase(customer);
  const refused = Promise.withResolvers<void>();
  fixture.bank.on(customer.get, async ({ headers }) => {
    if (headers['ocp-apim-subscription-key'] !== 'made-up') return { body: customer.record };
    await refused.promise;
    return { status: 401, body: 'no' };
  });
  const attack = `mutation { ${update(customer, 'email: "attacker"')} }`;
  const attackers = Array.from({ length: 20 }, () =>
    fixture.ask(attack, {}, { ...credentials, 'Ocp-Apim-Subscription-Key': 'made-up' }),
  );
  await expect.poll(() => fixture.bank.calls.length).toBe(20);
  for (let n = 0; n < 20; n++) expect((await fixture.update(`email: "${n}"`)).errors).toBeUndefined();
  refused.resolve();
  for (const result of await Promise.all(attackers))
    expect(failuresOf(result)).toEqual(['updateCustomer UNAUTHENTICATED']);
  expect(fixture.bank.calls).toHaveLength(20 + 2 * 20);
  expect(fixture.written()).toHaveLength(20);
});

test('updates of three logins who may not write the record delay another’s by one of each, not by all', async () => {
  const fixture = serveCase(customer);
  const first = Promise.withResolvers<void>();
  const mayNotWrite = ['one', 'two', 'three'];
  fixture.bank.on(customer.put, async ({ headers, body }) => {
    await first.promise;
    return mayNotWrite.includes(headers['auth-id'] ?? '')
      ? { status: 403, body: 'no' }
      : { body: asAnswered(customer, body) };
  });
  const refused = `mutation { ${update(customer, 'email: "refused"')} }`;
  const greedy = Array.from({ length: 15 }, (_, n) =>
    fixture.ask(refused, {}, { ...credentials, 'Auth-ID': mayNotWrite[n % 3] ?? '' }),
  );
  // All updates have read, and one of them is writing.
  await expect.poll(() => fixture.bank.calls.length).toBe(15 + 1);
  const single = fixture.update('email: "written"');
  await expect.poll(() => fixture.bank.calls.length).toBe(15 + 1 + 1);
  first.resolve();
  expect((await single).errors).toBeUndefined();
  const writers = () =>
    fixture.bank.calls.filter(({ method }) => method === 'PUT').map(({ headers }) => headers['auth-id']);
  expect(writers().indexOf(credentials['Auth-ID'])).toBeLessThan(6);
  for (const result of await Promise.all(greedy))
    expect(failuresOf(result)).toEqual(['updateCustomer FORBIDDEN']);
  expect(writers()).toHaveLength(15 + 1);
});

test('an update whose client leaves while it waits is written in its turn, and holds up nobody', async () => {
  const fixture = serveCase(customer);
  const release = fixture.hold();
  const first = fixture.update('email: "first"');
  await expect.poll(() => fixture.bank.calls.length).toBe(2);
  const leaving = new AbortController();
  const gone = fixture.bankql.fetch(
    new Request('http://bankql.test/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials },
      body: JSON.stringify({ query: `mutation { ${update(customer, 'email: "gone"')} }` }),
      signal: leaving.signal,
    }),
  );
  await expect.poll(() => fixture.bank.calls.length).toBe(3);
  const last = fixture.update('email: "last"');
  await expect.poll(() => fixture.bank.calls.length).toBe(4);
  leaving.abort();
  await gone.catch(() => {});
  release();
  for (const { errors } of await Promise.all([first, last])) expect(errors).toBeUndefined();
  expect(fixture.written().map(({ email }) => email)).toEqual(['first', 'gone', 'last']);
});
