import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { operations } from '../../src/contract/operations.ts';
import { schema } from '../../src/schema/schema.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { codeBlock, executePage } from '../support/executed-page.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

const page = readFileSync(new URL('../../docs/rest-developers.md', import.meta.url), 'utf8');
const table = Object.values(operations);

/** An operation's heading, the call that an earlier run wrote below it, and the document that makes the call. */
const section = /^### (\w+)\n\n```http\n[\s\S]*?^```\n\n```graphql\n([\s\S]*?)^```\n/gm;

/** A call as RFC 9112 writes it, without its headers. Numbers keep their digits. */
function httpOf({ method, path, body }: RecordedCall): string {
  if (body === '') return `${method} ${path}\n`;
  const value: unknown = JSON.parse(body, (_key, member, { source }) =>
    typeof member === 'number' && source !== undefined ? JSON.rawJSON(source) : member,
  );
  return `${method} ${path}\n\n${JSON.stringify(value, null, 2)}\n`;
}

const mark = { required: 'A', optional: 'a', none: '' };
const pathOf = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);

describe('docs/rest-developers.md', () => {
  test('has the REST call that each document makes, which is the operation of its heading', async () => {
    const now = Date.parse('2026-01-15T12:00:00Z');
    await using fixture = await startRecordedSandbox({ sandbox: { now } });
    const { bankql, recorder } = fixture;
    const ids: string[] = [];
    const { file, executed } = await executePage(
      'rest-developers.md',
      section,
      async ([, id = '', document = '']) => {
        recorder.calls.length = 0;
        // What customers may not write.
        const isStaffs = ['putBranchID', 'putCustomerMessage', 'putProduct'].includes(id);
        const login = isStaffs ? { ...alice, 'Auth-ID': 'staff' } : alice;
        const { errors } = await bankql.ask(document, {}, login);
        expect(errors, id).toBeUndefined();
        const [call, ...more] = recorder.calls;
        const operation = table.find((each) => each.id === id);
        if (call === undefined || operation === undefined) throw new Error(`${id} makes no call`);
        expect(more.map(httpOf), id).toEqual([]);
        expect([call.method, call.path]).toEqual([
          operation.method,
          expect.stringMatching(pathOf(operation.path)),
        ]);
        ids.push(id);
        return `### ${id}\n\n${codeBlock('http', httpOf(call))}\n${codeBlock('graphql', document)}`;
      },
    );
    expect(ids.sort()).toEqual(Object.keys(operations).sort());
    await expect(executed).toMatchFileSnapshot(file);
  });

  test('lists the 20 operations with their requests and headers, in the order of the specification', () => {
    const rows = [
      ...page.matchAll(/^\| \[`(\w+)`\]\(#(\w+)\) \| (GET|PUT|POST) `([^`]+)` \| ([TAa ]*) \|/gm),
    ].map((row) => row.slice(1));
    expect(rows).toEqual(
      table.map(({ id, method, path, tracked, auth }) => [
        id,
        id.toLowerCase(),
        method,
        path.replace('/v1/api', ''),
        `${tracked ? 'T' : ''} ${mark[auth]}`.trim(),
      ]),
    );
  });

  test('names each mutation in the row of the operation that it sends', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
    const writes = table.filter(({ kind }) => kind !== 'read').map(({ id }) => id);
    const rows = [...page.matchAll(/^\| \[`(\w+)`\].*\| (.+) \|$/gm)].map(([, id = '', names = '']) => ({
      id,
      names,
    }));
    for (const { name, description } of mutations) {
      const sent = writes.filter((id) => id === name || description?.match(/\w+/g)?.includes(id));
      expect(sent, name).not.toEqual([]);
      const named = rows.filter(({ names }) => names.includes(`\`${name}\``));
      expect(named.map(({ id }) => id).sort(), name).toEqual(sent.sort());
    }
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
