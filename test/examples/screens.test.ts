import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DocumentNode,
  NoDeprecatedCustomRule,
  parse,
  print,
  separateOperations,
  validate,
} from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { format } from '../../examples/web/src/amount.ts';
import { alice } from '../../src/app/announcements.ts';
import { readConfig } from '../../src/config/config.ts';
import { callers } from '../../src/sandbox/identity.ts';
import { schema } from '../../src/schema/schema.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';

const folder = join(import.meta.dirname, '../../examples');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const variables: Readonly<Record<string, Record<string, unknown>>> = JSON.parse(read('variables.json'));
const readme = read('README.md');

const names = readdirSync(join(folder, 'screens')).map((file) => file.replace(/\.graphql$/, ''));
const screens = names.map((name) => {
  const document = read(`screens/${name}.graphql`);
  return { name, document, said: Number(/^# (\d+) REST calls?/m.exec(document)?.[1]) };
});
const documentOf = (name: string) => screens.find((screen) => screen.name === name)?.document ?? '';

let fixture: RecordedSandbox;

beforeAll(async () => {
  const { limits, documentLimits, answerLimits } = readConfig({}).server;
  fixture = await startRecordedSandbox({ bankql: { limits, documentLimits, answerLimits } });
});
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(() => {
  fixture.recorder.calls.length = 0;
});

/** The operations of a screen, one after the other. */
const operationsOf = (name: string): readonly DocumentNode[] =>
  Object.values(separateOperations(parse(documentOf(name))));

async function ask(name: string, more?: object, headers: Readonly<Record<string, string>> = alice) {
  const all: { data: Record<string, unknown>; errors: object[] } = { data: {}, errors: [] };
  for (const operation of operationsOf(name)) {
    const { data, errors } = await fixture.bankql.ask<Record<string, unknown>, object>(
      print(operation),
      { ...variables[name], ...more },
      headers,
    );
    Object.assign(all.data, data);
    all.errors.push(...(errors ?? []));
  }
  return all;
}

/** Screens that are empty until a payment was made. */
const afterPayment = ['payment-history'];

describe('the screens, as alice, with the limits that are there by default', () => {
  test('are in the table of the README', () => {
    expect(readme).toContain(`Each of these ${names.length} documents`);
    for (const { name, said } of screens) expect(readme).toContain(`(screens/${name}.graphql) | ${said} |`);
    expect(Object.keys(variables).filter((name) => !names.includes(name))).toEqual([]);
  });

  test.each(screens)('$name is whole, for $said REST calls', async ({ name, said }) => {
    if (afterPayment.includes(name)) {
      const input = { ...(variables.receipt?.input as object), idempotencyKey: 'for the history' };
      expect((await ask('receipt', { input })).errors).toEqual([]);
      fixture.recorder.calls.length = 0;
    }
    const { data, errors } = await ask(name);
    expect(errors).toEqual([]);
    expect(fixture.recorder.lines()).toHaveLength(said);
    // No call is made twice.
    expect(
      new Set(fixture.recorder.calls.map(({ method, path, body }) => `${method} ${path} ${body}`)).size,
    ).toBe(said);
    // The screen is not empty.
    const [lists] = /\b(nodes|edges)\b/.exec(documentOf(name)) ?? [];
    if (lists) expect(JSON.stringify(data)).toContain(`"${lists}":[{`);
    for (const value of Object.values(data)) expect(value).not.toBeNull();
  });

  const ofEverybody = screens.filter(({ name, document }) => !variables[name] && document.includes('viewer'));
  test.each(
    callers
      .filter((caller) => caller !== 'alice')
      .flatMap((caller) => ofEverybody.map(({ name }) => ({ name, caller }))),
  )('$name is whole for $caller too', async ({ name, caller }) => {
    const { errors } = await ask(name, {}, { ...alice, 'Auth-ID': caller });
    expect(errors).toEqual([]);
  });
});

interface Receipt {
  readonly payment: {
    readonly account: { readonly balance: { readonly amount: string } };
    readonly transaction: { readonly details: { readonly newBalance: { readonly amount: string } } };
  };
}

interface Payable {
  readonly id: string;
  readonly payee: { readonly bankId: string; readonly accountId: string } | null;
}

describe('what the screens show', () => {
  test('the nearest branch is the first', async () => {
    const { data } = await ask('nearest-branches');
    const { bank } = data as { bank: { branches: { edges: { distanceKm: number }[] } } };
    const distances = bank.branches.edges.map(({ distanceKm }) => distanceKm);
    expect(distances).toEqual(distances.toSorted((one, other) => one - other));
    expect(distances[0]).toBeLessThan(5);
  });

  test('the receipt has the balances behind the transfer', async () => {
    const input = { ...(variables.receipt?.input as object), idempotencyKey: 'another' };
    const { data } = await ask('receipt', { input });
    const { payment } = (data as { makeTransaction: Receipt }).makeTransaction;
    expect(payment.account.balance.amount).toBe(payment.transaction.details.newBalance.amount);
  });

  test('whom the transfer form names as payees can be paid, by what it shows of them', async () => {
    const { data } = await ask('transfer-form');
    const { account } = (data as { viewer: { account: { otherAccounts: { nodes: Payable[] } } } }).viewer;
    const payees = account.otherAccounts.nodes.filter(({ payee }) => payee !== null);
    expect(payees.length).toBeGreaterThan(5);
    for (const { id, payee } of payees) {
      const input = { ...(variables.receipt?.input as object), to: payee, idempotencyKey: id.slice(-100) };
      expect((await ask('payment-with-polling', { input })).data).toMatchObject({
        makeTransaction: { payment: { state: 'DONE' } },
      });
    }
  });

  test('the transaction shows its counterparty', async () => {
    const { data } = await ask('transaction');
    expect(data).toMatchObject({ bank: { account: { transaction: { otherAccount: { holder: {} } } } } });
  });
});

test.each([
  ['1250.50', 'EUR', '€1,250.50'],
  ['1250', 'EUR', '€1,250.00'],
  ['9007199254740993.25', 'EUR', '€9,007,199,254,740,993.25'],
  ['0.005', 'EUR', '€0.005'],
  ['-1250.25', 'JPY', '-JP¥1,250.25'],
  ['12.50', 'Taler', '12.50 Taler'],
])('the web bank shows all digits of %s %s', (amount, currency, shown) => {
  expect(format(amount, currency)).toBe(shown);
});

// The usual number of decimals depends on the version of Node.
test('and those of a forint', () => {
  expect(format('1250.50', 'HUF').replace(/\s/, ' ')).toBe('HUF 1,250.50');
});

const manifest: Record<string, string> = JSON.parse(read('mobile-bff/manifest.json'));
/** The GraphQL documents in the sources of the web app. */
const inSources = globSync('web/src/*.{ts,tsx}', { cwd: folder })
  .map(read)
  .flatMap((source) => [...source.matchAll(/graphql\(`([^`]*)`/g)].map(([, text = '']) => text));

test.each([
  ...globSync('{screens,mobile-bff/operations}/*.graphql', { cwd: folder }).map((file) => [file, read(file)]),
  ...Object.entries(manifest),
  ['web', inSources.join('\n')],
])('no document of the examples uses what is deprecated: %s', (_, text = '') => {
  expect(text).toContain('{');
  expect(validate(schema, parse(text), [NoDeprecatedCustomRule]).map(({ message }) => message)).toEqual([]);
});
