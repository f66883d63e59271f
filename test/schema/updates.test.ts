import { describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { exact, failuresOf, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import {
  account,
  asAnswered,
  branch,
  customer,
  numbered,
  products,
  serve,
  transaction,
  update,
  updateCases,
  versionIn,
} from '../support/update-cases.ts';

describe.each(updateCases)('$field', (it) => {
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

  test.each([
    ['{}', () => ({})],
    ['a part of what was written', (sent: object) => Object.fromEntries(Object.entries(sent).slice(0, 2))],
  ])('is answered with %s: the record is read again', async (_, answerOf) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    fixture.bank.on(it.put, ({ body }) => ({ body: answerOf(JSON.parse(asAnswered(it, body))) }));
    const written = await fixture.ask(`mutation { ${update(it, it.change, `${it.node} { version }`)} }`);
    expect(written.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get]);
    expect(versionIn(written.data)).toBe(versionIn((await fixture.ask(`{ ${it.readBack} }`)).data));
    const before = fixture.bank.calls.length;
    // What the ids answer needs no read.
    await fixture.ask(`mutation { ${update(it, it.change, `${it.node} { id } trackId`)} }`);
    expect(fixture.bank.lines().slice(before)).toEqual([it.get, it.put]);
  });

  test('is refused without a call if the changes name nothing', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(`mutation { ${update(it, '')} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BAD_USER_INPUT`]);
    expect(fixture.bank.lines()).toEqual([]);
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
      JSON.parse(put === undefined ? '{}' : asAnswered(it, put.body), (_key, value, { source }) =>
        typeof value === 'number' ? exact(source ?? '') : value,
      ),
    );
    expect(versionIn((await fixture.ask(`{ ${it.readBack} }`)).data)).toBe(next);
  });

  test('writes nothing where the record has another version, and gives it', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const version = versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
    const result = await fixture.ask(
      `mutation { ${update(it, it.change, `${it.node} { id } trackId conflict { id version }`, 'other')} }`,
    );
    // An error beside `conflict` would make many clients drop it.
    expect(result.errors).toBeUndefined();
    expect(result.data).toMatchObject({
      [it.field]: { [it.node]: null, trackId: null, conflict: { version } },
    });
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test('a conflict shows that what was read before is outdated: it is read again', async () => {
    await using fixture = await startBankqlFixture({ bankOptions: { publicCacheTtlMs: 60_000 } });
    const state = serve(fixture.bank, it);
    const read = async () => versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
    const before = await read();
    state.record = { ...it.record, [it.text]: 'changed by another process' };
    const refused = await fixture.ask(
      `mutation { ${update(it, it.change, 'conflict { version }', before)} }`,
    );
    expect(await read()).toBe(versionIn(refused.data));
    expect(fixture.bank.lines()).toEqual([it.get, it.get, it.get]);
  });

  test('never keeps quiet about a conflict: without `conflict` the field itself fails', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const result = await fixture.ask(`mutation { ${update(it, it.change, '__typename', 'other')} }`);
    expect(failuresOf(result)).toEqual([`${it.field} CONFLICT`]);
    const version = versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
    expect(result.errors?.[0]?.extensions).toMatchObject({ version, retryable: false });
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test('writes nothing where any of the record is broken, also what is not changed', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, it);
    state.record = { ...it.record, [it.text]: true };
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

  test('writes nothing where only a part of the record was read', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    fixture.bank.on(it.get, { status: 206, body: it.answer(it.record) });
    const result = await fixture.ask(`mutation { ${update(it, it.change)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BANK_BAD_RESPONSE`]);
    expect(result.errors?.[0]?.message).toMatch(/ is only a part \(status 206\)\.$/);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  test.each<[string, (it: (typeof updateCases)[number]) => object]>([
    ['the record', (it) => ({ ...it.answer(it.record), error: 'the old system is away' })],
    ['a value of the record', (it) => it.answer({ ...it.record, error: 'the old system is away' })],
  ])('writes nothing where an error was read beside %s', async (_, answer) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    fixture.bank.on(it.get, { body: answer(it) });
    const result = await fixture.ask(`mutation { ${update(it, it.change)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BANK_REJECTED`]);
    expect(fixture.bank.lines()).toEqual([it.get]);
  });

  test('fails where the bank answers the write with an error beside the record', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    fixture.bank.on(it.put, ({ body }) => ({ body: { ...JSON.parse(body), error: 'not saved' } }));
    const result = await fixture.ask(`mutation { ${update(it, it.change)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BANK_REJECTED`]);
    expect(result.errors?.[0]?.message).toMatch(/may have been executed all the same: not saved$/);
    expect(fixture.bank.lines()).toEqual([it.get, it.put]);
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

  test('takes turns with another update of the same record, whoever asks for it, and reads what that wrote', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it);
    const held = Promise.withResolvers<void>();
    fixture.bank.on(it.put, async ({ body }) => {
      await held.promise;
      return { body: asAnswered(it, body) };
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
    const lines = () => fixture.bank.lines();
    const count = (line: string) => lines().filter((each) => each === line).length;
    await expect.poll(() => [count(it.get), count(it.put)]).toEqual([2, 1]);
    held.resolve();
    for (const { errors } of await Promise.all(both)) expect(errors).toBeUndefined();
    expect([count(it.get), count(it.put)]).toEqual([3, 2]);
    expect(lines().slice(-2)).toEqual([it.get, it.put]);
  });

  test('counts two REST calls, and writes nothing where it may make only one', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 3 } });
    serve(fixture.bank, it);
    const once = `mutation { ${update(it, it.change, `trackId ${it.node} { id version } conflict { id }`)} }`;
    expect((await fixture.ask(once)).errors).toBeUndefined();
    const twice = `mutation { ${update(it, it.change)} again: ${update(it, it.change)} }`;
    expect(failuresOf(await fixture.ask(twice))).toEqual(['again CALL_BUDGET_EXCEEDED']);
    expect(fixture.bank.lines().filter((line) => line === it.put)).toHaveLength(2);
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

test('a conflict’s links lead to records that are read again, as all of a mutation', async () => {
  await using fixture = await startBankqlFixture();
  serve(fixture.bank, account);
  const owner = 'GET /v1/api/banks/BANK/customers/C';
  fixture.bank.on(account.get, { body: { accounts: [{ ...account.record, owners: ['C'] }] } });
  fixture.bank.on(owner, { body: customer.record });
  await fixture.ask('{ bank { customer(customerId: "C") { email } } }');
  const refused = `mutation { ${update(account, account.change, 'conflict { owners { email } }', 'other')} }`;
  expect((await fixture.ask(refused)).errors).toBeUndefined();
  expect(fixture.bank.lines()).toEqual([owner, account.get, owner]);
});

test.each([
  ['without what no request may contain', customer, { metadata: undefined }],
  ...[account, branch, products, transaction].map(
    (it) => ['with another id', it, { id: 'another' }] as const,
  ),
] as const)('a write that is answered %s: the record is read again', async (_, it, other) => {
  await using fixture = await startBankqlFixture();
  serve(fixture.bank, it);
  fixture.bank.on(it.put, ({ body }) => ({ body: { ...JSON.parse(asAnswered(it, body)), ...other } }));
  const written = await fixture.ask(`mutation { ${update(it, it.change, `${it.node} { version }`)} }`);
  expect(written.errors).toBeUndefined();
  expect(fixture.bank.lines()).toEqual([it.get, it.put, it.get]);
  expect(versionIn(written.data)).toBe(versionIn((await fixture.ask(`{ ${it.readBack} }`)).data));
});

describe('an update whose read returned another record than the requested one', () => {
  const nothingWritten = (reads: string, message: RegExp) => [
    expect.objectContaining({
      message: expect.stringMatching(new RegExp(`${message.source}.*Nothing was written\\.$`)),
      extensions: expect.objectContaining({ code: 'BANK_BAD_RESPONSE', operation: reads }),
    }),
  ];

  test.each([
    [account, 'getAccountsScope'],
    [products, 'getProduct'],
    [transaction, 'getTransaction'],
  ])('if it has another id: nothing is written by $field', async (it, reads) => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, it);
    state.record = { ...it.record, id: 'another' };
    for (const ifVersion of [undefined, 'other']) {
      const result = await fixture.ask(
        `mutation { ${update(it, it.change, 'trackId conflict { id }', ifVersion)} }`,
      );
      expect(result.errors).toEqual(nothingWritten(reads, /with the id another,/));
    }
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test.each([null, ''])('cannot be known if its id is %j: it is written', async (id) => {
    for (const it of [account, products, transaction]) {
      await using fixture = await startBankqlFixture();
      const state = serve(fixture.bank, it);
      state.record = { ...it.record, id };
      expect((await fixture.ask(`mutation { ${update(it, it.change)} }`)).errors).toBeUndefined();
      expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    }
  });

  const own = { ...account.record, id: 'ACC' };
  const foreign = { ...own, bank_id: 'OTHER', label: 'foreign' };
  test.each([
    ['two accounts with the id', [own, { ...own, label: 'second' }], /several accounts with the id ACC/],
    ['two, one of them without a bank', [own, { ...own, bank_id: null }], /several accounts with the id ACC/],
    ['only another bank’s under the id', [{ ...own, id: 'X' }, foreign], /account of another bank/],
  ])('if the list has %s: nothing is written', async (_, accounts, message) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, account);
    fixture.bank.on(account.get, { body: { accounts } });
    const result = await fixture.ask(`mutation { ${update(account, account.change)} }`);
    expect(result.errors).toEqual(nothingWritten('getAccountsScope', message));
    expect(fixture.bank.lines()).toEqual([account.get]);
  });

  test('if the bank has another code in all its records than in paths: its account is written', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, account);
    fixture.bank.on(account.get, { body: { accounts: [foreign] } });
    const result = await fixture.ask(`mutation { ${update(account, 'number: "new"')} }`);
    expect(result.errors).toBeUndefined();
    const [, put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual(numbered({ ...foreign, number: 'new' }));
  });

  test.each([
    ['before', [foreign, own]],
    ['behind', [own, foreign]],
  ])('if it stands %s it in the list: the bank’s own is written', async (_, accounts) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, account);
    fixture.bank.on(account.get, { body: { accounts: [{ ...own, id: 'X' }, ...accounts] } });
    const result = await fixture.ask(`mutation { ${update(account, 'number: "new"')} }`);
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([account.get, account.put]);
    const [, put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual(numbered({ ...own, number: 'new' }));
  });
});

test('of a caller who may not read the record delays nobody else', async () => {
  const [it] = updateCases;
  if (it === undefined) throw new Error('there is no update');
  await using fixture = await startBankqlFixture();
  serve(fixture.bank, it);
  const refused = Promise.withResolvers<void>();
  fixture.bank.on(it.get, async ({ headers }) => {
    if (headers['ocp-apim-subscription-key'] !== 'made-up') return { body: it.record };
    await refused.promise;
    return { status: 401, body: 'no' };
  });
  const attack = `mutation { ${update(it, 'email: "attacker"')} }`;
  const attackers = Array.from({ length: 20 }, () =>
    fixture.ask(attack, {}, { ...credentials, 'Ocp-Apim-Subscription-Key': 'made-up' }),
  );
  await expect.poll(() => fixture.bank.calls.length).toBe(20);
  for (let n = 0; n < 20; n++) {
    const own = await fixture.ask(`mutation { ${update(it, `email: "${n}"`)} }`);
    expect(own.errors).toBeUndefined();
  }
  refused.resolve();
  for (const result of await Promise.all(attackers))
    expect(failuresOf(result)).toEqual([`${it.field} UNAUTHENTICATED`]);
  const calls = fixture.bank.lines();
  expect(calls).toHaveLength(20 + 2 * 20);
  expect(calls.filter((line) => line === it.put)).toHaveLength(20);
});

test('is refused where what was read is no record at all', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: { unknown: 'try later' } });
  const result = await fixture.ask(
    'mutation { updateCustomer(input: { customerId: "C", changes: { email: "e" } }) { trackId } }',
  );
  expect(failuresOf(result)).toEqual(['updateCustomer BANK_BAD_RESPONSE']);
  expect(fixture.bank.calls).toHaveLength(1);
});

test('a client that leaves while its update waits is not written for, and holds up nobody', async () => {
  const [it] = updateCases;
  if (it === undefined) throw new Error('there is no update');
  await using fixture = await startBankqlFixture();
  serve(fixture.bank, it);
  const held = Promise.withResolvers<void>();
  fixture.bank.on(it.put, async ({ body }) => {
    await held.promise;
    return { body };
  });
  const first = fixture.ask(`mutation { ${update(it, 'email: "first"')} }`);
  await expect.poll(() => fixture.bank.calls.length).toBe(2);
  const leaving = new AbortController();
  const gone = fixture.bankql.fetch(
    new Request('http://bankql.test/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials },
      body: JSON.stringify({ query: `mutation { ${update(it, 'email: "gone"')} }` }),
      signal: leaving.signal,
    }),
  );
  await expect.poll(() => fixture.bank.calls.length).toBe(3);
  const last = fixture.ask(`mutation { ${update(it, 'email: "last"')} }`);
  await expect.poll(() => fixture.bank.calls.length).toBe(4);
  leaving.abort();
  await gone.catch(() => {});
  held.resolve();
  for (const { errors } of await Promise.all([first, last])) expect(errors).toBeUndefined();
  const written = fixture.bank.calls
    .filter(({ method }) => method === 'PUT')
    .map(({ body }) => JSON.parse(body));
  expect(written.map(({ email }) => email)).toEqual(['first', 'last']);
});
