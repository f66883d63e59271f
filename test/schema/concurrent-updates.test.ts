import { describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import {
  account,
  asAnswered,
  customer,
  serve,
  serveCase as serveRecord,
  transaction,
  type UpdateCase,
  update,
  updateCases,
} from '../support/update-cases.ts';

/**
 * Promise 7: overlapping updates of one record wait for each other, and none is lost. No caller delays another caller's
 * updates. test/bank/update-queue.test.ts tests the order.
 */

const shared = await shareBankqlFixture();
const serveCase = (it: UpdateCase) => ({ ...shared, ...serveRecord(shared, it) });

describe.each(updateCases)('$field', (it) => {
  test('waits for an update of the same record by another caller, and reads what it wrote', async () => {
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
});

test.each([account, transaction])(
  '$field waits for an update of the same record through another view',
  async (it) => {
    const through = (line: string) =>
      line.replace('/owner/', '/auditor/').replace('metadata/M', 'metadata/N');
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
  },
);

test('the update of a caller who may not read the record delays nobody else', async () => {
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

test('updates of three callers who may not write the record delay another caller by one of each, not by all', async () => {
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

test('an update whose client leaves while it waits is written in its turn, and delays nobody', async () => {
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
