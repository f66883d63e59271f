import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { operations } from '../../src/contract/operations.ts';
import { schema } from '../../src/schema/schema.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';

const page = readFileSync(new URL('../../docs/rest-developers.md', import.meta.url), 'utf8');
const table = Object.values(operations);

describe('docs/rest-developers.md', () => {
  test('makes one request of the three calls that it shows', async () => {
    await using fixture = await startRecordedSandbox();
    const [, calls = ''] = /```http\n([\s\S]*?)```/.exec(page) ?? [];
    const [, document = ''] = /```graphql\n([\s\S]*?)```/.exec(page) ?? [];
    const { errors } = await fixture.bankql.ask(document, {}, alice);
    expect(errors).toBeUndefined();
    const made = fixture.recorder.calls.map(({ method, path }) => `${method} ${path}`);
    expect(made.sort()).toEqual(calls.trim().split('\n').sort());
  });

  // npm run schema writes the rows (test/schema/descriptions.test.ts).
  test('names each operation of the bank, and each mutation in the row of the operation that it sends', () => {
    const rows = new Map(
      [...page.matchAll(/^\| `(\w+)` \| (?:GET|PUT|POST) .*\| (.+) \|$/gm)].map(([, id = '', names = '']) => [
        id,
        names,
      ]),
    );
    expect([...rows.keys()]).toEqual(table.map(({ id }) => id));
    const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {});
    const writes = table.filter(({ kind }) => kind !== 'read').map(({ id }) => rows.get(id) ?? '');
    for (const name of mutations)
      expect(
        writes.filter((names) => names.includes(`\`${name}\``)),
        name,
      ).toHaveLength(1);
  });

  const statuses = [...page.matchAll(/^\| (\d{3})\b.*? \| `(\w+)` \| `(\w+)` \|$/gm)].map(
    ([, status, read, write]) => ({ status: Number(status), read, write }),
  );

  test('says of six statuses what they become', () => {
    expect(statuses).toHaveLength(6);
  });

  test.each(statuses)('$status is $read of a read, $write of a write', async ({ status, read, write }) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ status, body: { message: 'no' } });
    const codeOf = async (document: string) => (await fixture.ask(document)).errors?.[0]?.extensions.code;
    expect(await codeOf('{ bank { customer(customerId: "C") { email } } }')).toBe(read);
    expect(
      await codeOf('mutation { putCustomer(input: { customerId: "C", customer: {} }) { trackId } }'),
    ).toBe(write);
    expect(fixture.bank.lines()).toEqual(
      ['GET', 'PUT'].map((method) => `${method} /v1/api/banks/BANK/customers/C`),
    );
  });
});
