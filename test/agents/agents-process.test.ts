import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agree, answerOf, call, documentsFolder, input, questionIn, send } from '../support/agents.ts';
import { claims, createKey, sign, startIssuer } from '../support/issuer.ts';
import { logLines } from '../support/log-lines.ts';
import { accept, startPaymentBank } from '../support/payment-bank.ts';
import { post, runProcess, startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';
import { untilFound } from '../support/waits.ts';

/** Tools for agents with several processes, and during signals. */

const folder = testFolder();
const mcpUrl = 'https://api.example/mcp';
const given = { input: { ...input(), accountId: 'payer' } };
const payloadOf = (result: Parameters<typeof answerOf>[0]) => answerOf(result).data.makeTransaction;

test('ten equal calls at two processes with one store, of which the first is killed, are one payment', async () => {
  const key = await createKey('ES256', 'key');
  await using issuer = await startIssuer(key);
  await using bank = await startPaymentBank();
  using tools = documentsFolder();
  const environment = {
    ...issuer.variables,
    BANK_BASE_URL: bank.url,
    BANK_SUBSCRIPTION_KEY: 'operator-key',
    BANK_ID: 'BANK',
    STATE_URL: `sqlite:${join(folder, 'state.db')}`,
    MCP_DOCUMENTS: tools.path,
    MCP_URL: mcpUrl,
  };
  await using first = await startProcess(environment);
  await using second = await startProcess(environment);
  const headers = { Authorization: `Bearer ${await sign(key, claims({ aud: mcpUrl }))}` };
  const asked = await call(`${first.url}/mcp`, 'Pay', given, { headers });
  expect(questionIn(asked)).toContain('From: account "payer" at bank "BANK"');
  expect(bank.payments).toEqual([]);
  const arrived = Promise.withResolvers<void>();
  bank.decide = () => () => arrived.resolve();
  const pay = (url: string) => agree(`${url}/mcp`, 'Pay', given, asked, { headers });
  // The process that sends the payment waits for the bank; the others find its record.
  const atFirst = Promise.allSettled(Array.from({ length: 5 }, () => pay(first.url)));
  await arrived.promise;
  await first.stop('SIGKILL');
  await atFirst;
  bank.decide = accept;
  const states = await Promise.all(Array.from({ length: 5 }, () => pay(second.url)));
  for (const each of states)
    expect(payloadOf(each).userErrors).toMatchObject([{ code: 'IDEMPOTENCY_IN_PROGRESS' }]);
  // While the outcome of this payment is unknown, agreeing to another question makes no other payment either.
  const again = await call(`${second.url}/mcp`, 'Pay', given, { headers });
  expect(payloadOf(again).userErrors).toMatchObject([{ code: 'IDEMPOTENCY_IN_PROGRESS' }]);
  expect(bank.payments).toHaveLength(1);
  // The tokens of apps are verified with the same keys: each process has fetched them once.
  const ofApp = { Authorization: `Bearer ${await sign(key)}` };
  expect(await post(second.url, '{ __typename }', ofApp)).toEqual({ data: { __typename: 'Query' } });
  expect(issuer.asked()).toBe(2);
});

test('SIGHUP reloads the folder; an invalid one is logged, and the earlier tools stay', async () => {
  using tools = documentsFolder({ 'a.graphql': 'query A { __typename }' });
  await using bankql = await startProcess({ MCP_DOCUMENTS: tools.path });
  const names = async () => {
    const { result } = JSON.parse(await (await send(`${bankql.url}/mcp`, 'tools/list')).text());
    return result.tools.map(({ name }: { name: string }) => name);
  };
  const reload = async () => {
    const linesSoFar = logLines(bankql.output(), 'SIGHUP: ').length;
    bankql.child.kill('SIGHUP');
    return untilFound(() => logLines(bankql.output(), 'SIGHUP: ')[linesSoFar]);
  };
  expect(await names()).toEqual(['A']);
  writeFileSync(join(tools.path, 'b.graphql'), 'query B { __typename }');
  expect(await reload()).toMatchObject({ reloaded: ['tools for agents'] });
  expect(await names()).toEqual(['A', 'B']);
  writeFileSync(join(tools.path, 'a.graphql'), 'query A { nothing }');
  expect(await reload()).toMatchObject({
    what: 'tools for agents',
    reason: expect.stringContaining('a.graphql: Cannot query field'),
  });
  expect(await names()).toEqual(['A', 'B']);
});

test('a bad document stops the start and the check, which name it', async () => {
  using tools = documentsFolder({
    'bad.graphql':
      'mutation Bad($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }',
  });
  const environment = { MCP_DOCUMENTS: tools.path };
  for (const args of [[], ['check']]) {
    const { code, output } = await runProcess(environment, args);
    expect(code).toBe(1);
    expect(output).toContain(
      `MCP_DOCUMENTS=${tools.path} cannot be used: bad.graphql: Bad: the outcome has to be seen`,
    );
  }
});
