import { expect, test } from 'vitest';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { credentials } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

/** The ids by which clients' caches tell objects apart that no operation can read again. */

const viewer = { customerId: validateViewerTemplate('{auth-id}'), accountId: null };
const defaults = { bankId: 'BANK', viewId: 'owner', viewer };

test('Viewer.id is that of the login and the bank, and is not a node', async () => {
  await using fixture = await startBankqlFixture({ defaults });
  const idOf = async (bankId: string | null, headers: Readonly<Record<string, string>> = credentials) =>
    Object(await fixture.ask('query ($bankId: ID) { viewer(bankId: $bankId) { id } }', { bankId }, headers))
      .data.viewer.id;
  const own = await idOf(null);
  expect(await idOf('BANK')).toBe(own);
  expect(
    new Set([own, await idOf('OTHER'), await idOf(null, { ...credentials, 'Auth-ID': 'bob' })]).size,
  ).toBe(3);
  expect((await fixture.ask('query ($id: ID!) { node(id: $id) { id } }', { id: own })).errors).toMatchObject([
    {
      message: 'The `id` of the type Viewer is only for the caches of clients: `node` cannot read it.',
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ]);
  expect(fixture.bank.calls).toEqual([]);
});

test('Message.id is that of its content: the same whenever it is read, and another for other content', async () => {
  await using fixture = await startBankqlFixture({ defaults });
  const messages = [
    { message: 'm', date: '1', unknown: Math.PI },
    { message: 'm', date: '2' },
    { message: 'm', from_person: 'p', date: '1' },
  ];
  const idsOf = async (list: readonly object[]): Promise<string[]> => {
    fixture.bank.otherwise({ body: { messages: list } });
    const { data, errors } = await fixture.ask('{ bank { messages { nodes { id } } } }');
    expect(errors).toBeUndefined();
    return Object(data).bank.messages.nodes.map(({ id }: { id: string }) => id);
  };
  const ids = await idsOf(messages);
  expect(new Set(ids).size).toBe(3);
  expect(await idsOf(messages.toReversed())).toEqual(ids.toReversed());
});
