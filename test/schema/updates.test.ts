import { describe, expect, test } from 'vitest';
import {
  type BankqlFixture,
  exact,
  failuresOf,
  shareBankqlFixture,
  startBankqlFixture,
} from '../support/bankql-fixture.ts';
import { accountRecord, branchRecord, productRecord } from '../support/full-records.ts';
import type { Reply } from '../support/recording-bank.ts';
import {
  account,
  asAnswered,
  branch,
  customer,
  numbered,
  product,
  products,
  serveCase as serveRecord,
  transaction,
  transactionPath,
  type UpdateCase,
  update,
  updateCases,
  versionIn,
} from '../support/update-cases.ts';

/** Promise 7: an update reads the record, keeps the members that it does not change, and checks `ifVersion`. */

const shared = await shareBankqlFixture();
const serveCase = (it: UpdateCase, fixture: BankqlFixture = shared) => ({
  ...fixture,
  ...serveRecord(fixture, it),
});

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
  test('reads the record once, and writes all of it back with the changes', async () => {
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

  test('removes members that the changes set to null', async () => {
    const fixture = serveCase(it);
    expect((await fixture.update(it.clear)).errors).toBeUndefined();
    const { [it.cleared]: _, ...kept } = { ...it.body } as Record<string, unknown>;
    expect(fixture.sent()).toEqual(numbered(kept));
  });

  test('makes no call if the changes are empty or credentials are missing', async () => {
    const fixture = serveCase(it);
    expect(failuresOf(await fixture.update(''))).toEqual([`${it.field} BAD_USER_INPUT`]);
    const headers = { 'Ocp-Apim-Subscription-Key': 'key' };
    expect(failuresOf(await fixture.ask(`mutation { ${update(it, it.change)} }`, {}, headers))).toEqual([
      `${it.field} MISSING_CREDENTIALS`,
    ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('writes if `ifVersion` is the current version, and answers the next version', async () => {
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

  test('is CONFLICT with another `ifVersion`, writes nothing, and reads again afterwards', async () => {
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
  ])('reads the record again for selected fields if the bank answers with %s', async (_, answerOf) => {
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

  test('does not use earlier reads or caches', async () => {
    await using started = await startBankqlFixture(publicCache);
    const fixture = serveCase(it, started);
    // The same request is sent three times, so that everything that can be cached is cached.
    for (let time = 0; time < 3; time++) await fixture.version();
    fixture.bank.calls.length = 0;
    await fixture.ask(`mutation { ${update(it, it.change)} again: ${update(it, it.change)} }`);
    await fixture.version();
    expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get, it.put, it.get]);
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
])(
  'a deviating value of the bank is written back in the form of the specification: %#',
  async (it, own, meant) => {
    const fixture = serveCase(it);
    fixture.state.record = { ...it.record, ...own };
    const { errors } = await fixture.update(it.same);
    expect(errors).toBeUndefined();
    expect(fixture.sent()).toEqual(numbered({ ...it.body, ...meant }));
  },
);

test.each(['', []])(
  'a record with an empty balance (%j) is not written, because the bank requires a balance',
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
  'a record with a member in another spelling is not written, because its value would be lost: %#',
  async (it, name, own) => {
    const fixture = serveCase(it);
    fixture.state.record = { ...it.record, ...own };
    const { errors } = await fixture.update(it.same);
    expect(errors).toMatchObject([{ extensions: { code: 'BANK_BAD_RESPONSE' } }]);
    expect(errors?.[0]?.message).toMatch(new RegExp(`a member ${name},.*Nothing was written\\.$`));
    expect(fixture.bank.lines()).toEqual([it.get]);
  },
);

test('a member in another spelling is ignored if the member itself exists or if it has no value', async () => {
  const fixture = serveCase(account);
  fixture.state.record = { ...account.record, swiftBic: 'account-swift-bic', Label: null };
  expect((await fixture.update(account.same)).errors).toBeUndefined();
  expect(fixture.sent()).toEqual(numbered(account.body));
});

describe('a member that the bank requires', () => {
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
  ])('is not removed: %#', async (it, record, changes, argument, message) => {
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

  test('is not needed in an absent object whose members are only removed', async () => {
    const fixture = serveCase(branch);
    fixture.state.record = least;
    await fixture.update('address: { line1: null }, location: {}');
    expect(fixture.written()).toEqual([least]);
  });

  test('of a product, its bank, is the bank of the path if the record has none, and the named one if it has several', async () => {
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
  ])('without metadata, { %s } writes %j with the metadata type %s', async (changes, made, type) => {
    const fixture = serveCase(transaction);
    fixture.state.record = approved;
    fixture.bank.otherwise(({ body }) => ({ body }));
    expect((await fixture.ask(annotate(`changes: { ${changes} }`))).errors).toBeUndefined();
    expect(fixture.bank.calls[1]?.path).toBe(`${transactionPath}/metadata/${type}`);
    expect(fixture.written()).toEqual([{ ...approved, ...made }]);
  });

  test('needs a metadata type if the changes do not name exactly one member', async () => {
    const fixture = serveCase(transaction);
    for (const changes of ['', 'tags: "t", where: "w"'])
      expect(failuresOf(await fixture.ask(annotate(`changes: { ${changes} }`)))).toEqual([
        'annotateTransaction BAD_USER_INPUT',
      ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('uses `approvedByIpAddress` only if the record of the bank has none', async () => {
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
