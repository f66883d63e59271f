import { expect, test } from 'vitest';
import { claims, createKey, sign, startIssuer } from '../../support/issuer.ts';
import { logLines } from '../../support/log-lines.ts';
import { post, startProcess } from '../../support/process.ts';

test('a process with the sandbox bank, tokens and a rate limit works as the docs describe', async () => {
  const key = await createKey('ES256', 'k');
  await using issuer = await startIssuer(key);
  await using bankql = await startProcess({
    LOG_LEVEL: 'trace',
    BANK_SUBSCRIPTION_KEY: 'sandbox-key',
    ...issuer.variables,
    IDENTITY_CLAIMS: 'provider sub',
    RATE_LIMIT: '2/60',
  });
  const query = '{ bank { account(accountId: "alice-current") { label } } }';
  const tokenOf = (sub: string) => sign(key, claims({ sub, provider: 'sandbox' }));
  const ask = async (token: string) => post(bankql.url, query, { Authorization: `Bearer ${token}` });

  expect(bankql.output()).not.toContain('sandbox-key');
  const [alice, bob] = [await tokenOf('alice'), await tokenOf('bob')];
  expect(await ask(alice)).toEqual({ data: { bank: { account: { label: 'Everyday' } } } });
  expect(await ask(bob)).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
  expect(await post(bankql.url, query, {})).toMatchObject({
    errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
  });
  await ask(await sign(key, claims({ sub: 'alice', provider: 'sandbox', exp: 1 })));
  await ask(await sign(key, claims({ sub: 'alice', provider: 'sandbox', aud: 'another' })));
  const refusals = () =>
    logLines(bankql.output()).flatMap(({ level, msg, reason }) =>
      level === 30 && msg === 'operation' && reason !== undefined ? [reason] : [],
    );
  await expect
    .poll(refusals)
    .toEqual(['bearer token: no token', 'bearer token: expired', 'bearer token: claims (aud)']);
  await ask(alice);
  expect(await ask(alice)).toMatchObject({
    errors: [{ extensions: { code: 'RATE_LIMITED', retryable: true } }],
  });
  expect(await bankql.stop()).toBe(0);
  for (const part of [...alice.split('.'), ...bob.split('.').slice(1)])
    expect(bankql.output()).not.toContain(part);
});

test('a payment that is refused for its missing scope is counted and logged', async () => {
  const key = await createKey('ES256', 'k');
  await using issuer = await startIssuer(key);
  await using bankql = await startProcess({
    BANK_SUBSCRIPTION_KEY: 'sandbox-key',
    METRICS_PORT: '0',
    ...issuer.variables,
    IDENTITY_CLAIMS: 'provider sub',
    IDENTITY_PAYMENT_SCOPE: 'payments',
  });
  const pay = `mutation { makeTransaction(input: { accountId: "alice-current", to: { accountId: "GR1601101250000000012300695" },
    value: { amount: "1", currency: "EUR" }, idempotencyKey: "key" }) { userErrors { code } } }`;
  const ask = async (scope: string) => {
    const token = await sign(key, claims({ sub: 'alice', provider: 'sandbox', scope }));
    return post(bankql.url, pay, { Authorization: `Bearer ${token}` });
  };
  expect(await ask('openid')).toEqual({ data: { makeTransaction: { userErrors: [{ code: 'FORBIDDEN' }] } } });
  const [{ metrics }] = logLines(bankql.output(), 'bankql serves');
  expect(await (await fetch(metrics)).text()).toContain('bankql_payment_refusals_total{why="no scope"} 1\n');
  await expect
    .poll(() => logLines(bankql.output(), 'a payment is refused'))
    .toMatchObject([{ code: 'FORBIDDEN', why: 'no scope' }]);
  expect(await ask('openid payments')).toEqual({ data: { makeTransaction: { userErrors: [] } } });
});
