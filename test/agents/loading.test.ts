import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { requestCredentials } from '../../src/bank/credentials.ts';
import { startBankql } from '../../src/index.ts';
import { Callers } from '../../src/load/callers.ts';
import { createTestHolder } from '../support/bankql.ts';
import { keptMegabytes } from '../support/memory.ts';
import { testFolder } from '../support/test-folder.ts';

/** The cost of tools for agents, for deployments with and without them. */

const loaded = vi.hoisted(() => ({ times: 0 }));
vi.mock('@modelcontextprotocol/server', (original) => {
  loaded.times++;
  return original();
});
const folder = testFolder();

test('the SDK of the protocol is loaded only with MCP_DOCUMENTS', async () => {
  const environment = { PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' };
  await (await startBankql({ environment })).stop();
  expect(loaded.times).toBe(0);
  writeFileSync(join(folder, 'a.graphql'), 'query A { __typename }');
  await (await startBankql({ environment: { ...environment, MCP_DOCUMENTS: folder } })).stop();
  expect(loaded.times).toBe(1);
});

test('10,000 calls leave the memory as it was', async () => {
  const { input, messageOf, startAgents } = await import('../support/agents.ts');
  await using agents = await startAgents();
  const given = { subscriptionKey: 'k', authProviderName: 'p', authId: 'alice' };
  const sender = {
    credentials: requestCredentials(given, new Callers()),
    holder: createTestHolder(),
    activity: null,
    fetchRequest: { method: 'POST', url: 'http://bankql/mcp', headers: new Headers() },
  };
  const calling = (name: string, given: object) => {
    const { headers, body } = messageOf('tools/call', { name, arguments: given });
    const lowerCase = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]);
    return { body: JSON.parse(body), request: { headers: Object.fromEntries(lowerCase) } };
  };
  const [reading, question] = [calling('Anything', {}), calling('Pay', { input: input() })];
  const ask = async (times: number) => {
    for (let n = 0; n < times; n++) {
      const { body, request } = n % 10 === 0 ? question : reading;
      const { status } = await agents.endpoint.answer(body, { ...sender, request });
      expect(status).toBe(200);
      // The log is kept in memory, so it is emptied here.
      agents.log.length = 0;
    }
  };
  await ask(1000);
  const before = await keptMegabytes();
  await ask(10_000);
  expect((await keptMegabytes()) - before).toBeLessThan(1);
  expect(agents.payments()).toBe(0);
});
