import type { Plugin } from 'graphql-yoga';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bankql, startBankql } from '../../src/index.ts';
import { createRateLimiter } from '../../src/load/rate-limit.ts';
import {
  agree,
  agreed,
  alice,
  answerOf,
  call,
  documentsFolder,
  holdBank,
  input,
  paymentDocument,
  questionIn,
  send,
  startAgents,
} from '../support/agents.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import {
  audience,
  claims,
  createKey,
  type Issuer,
  type IssuerKey,
  sign,
  startIssuer,
} from '../support/issuer.ts';
import { logLines } from '../support/log-lines.ts';
import { postOf } from '../support/requests.ts';
import { type SandboxRecorder, startSandboxRecorder } from '../support/sandbox-recorder.ts';

describe('with IDENTITY=jwt', () => {
  const mcpUrl = 'https://api.example/mcp';
  const metadataUrl = 'https://api.example/.well-known/oauth-protected-resource/mcp';
  let key: IssuerKey;
  let issuer: Issuer;
  let bank: SandboxRecorder;
  let bankql: Bankql;
  const folder = documentsFolder();
  beforeAll(async () => {
    key = await createKey('ES256', 'key');
    issuer = await startIssuer(key);
    bank = await startSandboxRecorder();
    bankql = await startBankql({
      environment: {
        ...issuer.variables,
        BANK_BASE_URL: bank.recorder.url,
        BANK_SUBSCRIPTION_KEY: 'operator-key',
        BANK_ID: 'SNDBCY2N',
        IDENTITY_PAYMENT_SCOPE: 'payments',
        STATE_URL: 'memory:',
        MCP_DOCUMENTS: folder.path,
        MCP_URL: mcpUrl,
        CORS_ORIGINS: 'https://agent.example',
        PORT: '0',
        LOG_LEVEL: 'silent',
      },
    });
  });
  afterAll(async () => {
    await bankql.stop();
    await bank[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const bearer = async (aud: unknown, scope = 'read payments') => ({
    Authorization: `Bearer ${await sign(key, claims({ aud, scope }))}`,
  });
  const atTools = (headers: Record<string, string>) =>
    send(`${bankql.url}/mcp`, 'tools/list', {}, { headers });
  const atGraphQL = (headers: Record<string, string>) =>
    fetch(`${bankql.url}/graphql`, postOf({ query: '{ __typename }' }, headers));

  test('a token is valid at only one of the two endpoints: an agent cannot pay where nobody is asked', async () => {
    for (const [aud, tools, graphql] of [
      [mcpUrl, 200, 401],
      [audience, 401, 200],
      [[mcpUrl, audience], 401, 401],
      [['other', audience, mcpUrl], 401, 401],
      [[mcpUrl, 'other'], 200, 401],
      [`${mcpUrl}/`, 401, 401],
    ] as const) {
      const headers = await bearer(aud);
      expect([aud, (await atTools(headers)).status, (await atGraphQL(headers)).status]).toEqual([
        aud,
        tools,
        graphql,
      ]);
    }
  });

  test('the answer to a request without a valid token says where to get one', async () => {
    const none = await atTools({});
    expect(none.status).toBe(401);
    expect(none.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadataUrl}"`);
    const wrong = await atTools(await bearer(audience));
    expect(wrong.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="[^"]+"$/,
    );
    expect((await atGraphQL({})).headers.get('www-authenticate')).toBe('Bearer');
    // At these paths too, clients look for an issuer's metadata. If there is none, they try the next path.
    expect((await fetch(`${bankql.url}/.well-known/oauth-authorization-server/mcp`)).status).toBe(404);
    const metadata = await fetch(`${bankql.url}${new URL(metadataUrl).pathname}`);
    expect(metadata.headers.get('content-type')).toBe('application/json');
    expect(await metadata.json()).toEqual({
      resource: mcpUrl,
      authorization_servers: [issuer.options.issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: ['payments'],
    });
  });

  test('a token without the scope reads, and is 403 before the question', async () => {
    const headers = await bearer(mcpUrl, 'read');
    const read = await call(`${bankql.url}/mcp`, 'Anything', {}, { headers });
    expect(answerOf(read)).toEqual({ data: { bank: { bankId: 'SNDBCY2N' } } });
    const response = await send(
      `${bankql.url}/mcp`,
      'tools/call',
      { name: 'Pay', arguments: { input: input() } },
      { headers, inputResponses: agreed },
    );
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="payments", resource_metadata="${metadataUrl}"`,
    );
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    const asked = await call(
      `${bankql.url}/mcp`,
      'Pay',
      { input: input() },
      { headers: await bearer(mcpUrl) },
    );
    expect(questionIn(asked)).toContain('Pay 12.50 EUR?');
    expect(bank.recorder.calls).toEqual([]);
  });

  test('a page of another origin is refused; an agent, which is none, and a listed one are served', async () => {
    const headers = await bearer(mcpUrl);
    for (const origin of ['https://evil.example', 'null', bankql.url])
      expect((await atTools({ ...headers, Origin: origin })).status).toBe(403);
    const listed = await atTools({ ...headers, Origin: 'https://agent.example' });
    expect([listed.status, listed.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'https://agent.example',
    ]);
    expect((await atTools(headers)).status).toBe(200);
    const asked = 'authorization, content-type, mcp-method, mcp-name, mcp-protocol-version';
    const preflight = (origin: string) =>
      fetch(`${bankql.url}/mcp`, {
        method: 'OPTIONS',
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': asked,
        },
      });
    const allowed = await preflight('https://agent.example');
    expect([allowed.status, allowed.headers.get('access-control-allow-headers')]).toEqual([204, asked]);
    expect((await preflight('https://evil.example')).status).toBe(403);
  });

  test('what is no message is refused by the door', async () => {
    const headers = { 'Content-Type': 'application/json', ...(await bearer(mcpUrl)) };
    const post = (body: string, more: Record<string, string> = {}) =>
      fetch(`${bankql.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body });
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    for (const [response, status, words] of [
      [await post(`[${list},${list}]`), 400, 'one JSON-RPC message at a time'],
      [await post('"text"'), 400, 'one JSON-RPC message at a time'],
      [await post('{'), 400, 'not JSON'],
      [await post(list, { 'Content-Type': 'text/plain' }), 415, 'application/json'],
      [await post(list, { 'Content-Encoding': 'gzip' }), 415, 'Content-Encoding'],
      [await post(list.padEnd(100_001)), 413, 'longer than 100000 bytes'],
      [await fetch(`${bankql.url}/mcp`, { headers }), 405, 'Only POST'],
      [await fetch(`${bankql.url}/mcp`, { method: 'DELETE', headers }), 405, 'Only POST'],
    ] as const) {
      expect(response.status).toBe(status);
      expect((await response.json()).errors[0].message).toContain(words);
      if (status === 405) expect(response.headers.get('allow')).toBe('POST');
    }
  });

  test('a subscription is refused, and holds nothing', async () => {
    const response = await send(
      `${bankql.url}/mcp`,
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { headers: await bearer(mcpUrl) },
    );
    expect(await response.json()).toMatchObject({ error: { message: 'Subscription limit reached' } });
  });
});

describe('the limits of the door', () => {
  test('RATE_LIMIT counts the REST calls of tools', async () => {
    await using agents = await startAgents({ rateLimiter: createRateLimiter({ calls: 1, seconds: 60 }) });
    const ask = () => call(agents.url, 'Balance', { account: 'alice-current' });
    expect(answerOf(await ask()).errors).toBeUndefined();
    expect(answerOf(await ask()).errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    const given = { input: input() };
    const paid = await agree(agents.url, 'Pay', given, await call(agents.url, 'Pay', given));
    expect(answerOf(paid).data.makeTransaction.userErrors).toMatchObject([{ code: 'RATE_LIMITED' }]);
    expect(agents.payments()).toBe(0);
  });

  test('a caller’s share of the capacity holds, and a drain lets a payment end', async () => {
    await using agents = await startAgents({
      capacity: capacityLimits({ requests: 2, requestsPerCaller: 1 }),
    });
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const { arrived, released } = holdBank(agents);
    const paying = agree(agents.url, 'Pay', given, asked);
    await arrived.promise;
    const refused = await send(agents.url, 'tools/list');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    const closed = agents.server.close();
    released.resolve();
    expect(answerOf(await paying).data.makeTransaction.payment.state).toBe('DONE');
    await closed;
    expect(agents.payments()).toBe(1);
  });

  test('an answer that is too long for a model is LIMIT_EXCEEDED; a payment’s says what it did', async () => {
    await using agents = await startAgents({ answerLimits: { values: 100_000, bytes: 100 } });
    const given = { input: input() };
    const paid = await agree(agents.url, 'Pay', given, await call(agents.url, 'Pay', given));
    expect(paid.isError).toBe(true);
    expect(answerOf(paid).errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', state: 'DONE' } }]);
    expect(agents.payments()).toBe(1);
  });
});

test('a long list of tools needs room until its client has read it', async () => {
  await using agents = await startAgents({
    documents: Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [
        `${n}.graphql`,
        `mutation Pay${n}($input: PutTransactionRequestInput!) { putTransactionRequest(input: $input) { userErrors { code } } }`,
      ]),
    ),
    capacity: capacityLimits({ unread: 16_384 }),
  });
  const refused = await send(agents.url, 'tools/list');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'OVERLOADED' } }] });
});

test('each request has one line in the log, which names the tool, distinguishes asked from not agreed, and contains nothing of the request', async () => {
  await using agents = await startAgents();
  const given = { input: { ...input('77.31'), description: 'the purpose of it' } };
  const asked = await call(agents.url, 'Pay', given);
  await agree(agents.url, 'Pay', given, asked, { inputResponses: { confirmation: { action: 'decline' } } });
  const paid = await agree(agents.url, 'Pay', given, asked);
  await call(agents.url, 'Pay', { input: { ...given.input, key: 'x' } });
  await send(agents.url, 'tools/call', { name: 'Pay', arguments: given }, { capabilities: {} });
  await call(agents.url, 'Balance', { account: 'alice-current' });
  await send(agents.url, 'tools/list');
  await send(agents.url, 'tools/call', { name: 'Nothing', arguments: {} });
  // The SDK refuses the next two messages with status 200. The third is a notification, which has no answer.
  await send(agents.url, 'tools/call', { name: 'Pay', arguments: [] });
  await send(agents.url, 'tools/call', { name: 'Pay', arguments: given, requestState: 1 });
  const notification = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'Pay', arguments: given } };
  const accepting = { ...alice, Accept: 'application/json, text/event-stream' };
  expect((await fetch(agents.url, postOf(notification, accepting))).status).toBe(202);
  await fetch(agents.url, { headers: alice });
  const lines = logLines(agents.log.join(''), '"msg":"operation"');
  expect(
    lines.map(({ operation, kind, outcome, status, codes }) => [operation, kind, outcome, status, codes]),
  ).toEqual([
    ['Pay', 'mutation', 'asked', 200, undefined],
    ['Pay', 'mutation', 'not agreed', 200, undefined],
    ['Pay', 'mutation', 'ok', 200, undefined],
    ['Pay', 'mutation', 'failed', 200, ['BAD_USER_INPUT']],
    ['Pay', 'mutation', 'failed', 400, ['BAD_USER_INPUT']],
    ['Balance', 'query', 'ok', 200, undefined],
    [undefined, undefined, 'ok', 200, undefined],
    [undefined, undefined, 'failed', 200, ['BAD_USER_INPUT']],
    ['Pay', 'mutation', 'failed', 200, ['BAD_USER_INPUT']],
    ['Pay', 'mutation', 'failed', 200, ['BAD_USER_INPUT']],
    ['Pay', 'mutation', 'failed', 202, ['BAD_USER_INPUT']],
    [undefined, undefined, 'failed', 405, ['BAD_USER_INPUT']],
  ]);
  const [key = ''] = /[\da-f-]{36}/.exec(paid.content?.[1]?.text ?? '') ?? [];
  const log = agents.log.join('');
  for (const secret of [
    key,
    asked.requestState ?? '',
    '77.31',
    'the purpose',
    'alice-current',
    'sandbox-key',
  ])
    expect(log).not.toContain(secret);
});

test('a plugin sees the calls of tools, and a refusal of its own holds', async () => {
  const seen: (string | undefined)[] = [];
  const plugin: Plugin = {
    onExecute({ args }) {
      seen.push(args.operationName ?? undefined);
    },
    onParams({ params }) {
      if (params.variables?.account === 'forbidden') throw new Error('no');
    },
  };
  await using agents = await startAgents({ plugins: [plugin] });
  const given = { input: input() };
  await agree(agents.url, 'Pay', given, await call(agents.url, 'Pay', given));
  await call(agents.url, 'Balance', { account: 'alice-current' });
  expect(seen).toEqual(['Pay', 'Pay', 'Balance']);
  expect((await call(agents.url, 'Balance', { account: 'forbidden' })).isError).toBe(true);
  expect(agents.payments()).toBe(1);
});

test('a tool’s document is no persisted document: with PERSISTED_ONLY it cannot be called at /graphql', async () => {
  const text = 'query Known { __typename }';
  const { parse } = await import('graphql');
  await using agents = await startAgents({
    persisted: {
      documents: {
        texts: new Map([['known', text]]),
        parsed: new Map([[text, { node: parse(text), apps: ['known'] }]]),
      },
      only: true,
    },
  });
  const ask = async (body: object) => (await fetch(agents.graphql, postOf(body, alice))).json();
  expect(await ask({ documentId: 'known' })).toEqual({ data: { __typename: 'Query' } });
  const variables = { input: { ...input(), idempotencyKey: 'k' } };
  for (const body of [
    { query: paymentDocument, variables },
    { documentId: 'Pay', variables },
    { documentId: 'pay.graphql', variables },
  ])
    expect(await ask(body)).toMatchObject({
      errors: [{ extensions: { code: 'PERSISTED_DOCUMENT_REQUIRED' } }],
    });
  expect(agents.payments()).toBe(0);
});

test('without tools there is no /mcp', async () => {
  const bankql = await startBankql({ environment: { PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' } });
  expect((await send(`${bankql.url}/mcp`, 'tools/list')).status).toBe(404);
  await bankql.stop();
});
