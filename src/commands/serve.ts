import { pino } from 'pino';
import { createBankClient } from '../bank/client.ts';
import { readConfig, StartError } from '../config.ts';
import { openStore } from '../payments/open-store.ts';
import { createPayments } from '../payments/payments.ts';
import { listen, serve } from '../server/server.ts';
import { createTelemetry } from '../server/telemetry.ts';
import { alice, openSandbox } from './sandbox.ts';
import type { Terminal } from './terminal.ts';

/** How much longer than its deadline a payment's record is believed to be under way. */
const leaseMarginMs = 10_000;

/** `bankql`: serves GraphQL, over the configured bank or the embedded sandbox bank. Gives what ends it. */
export async function serveBankql({ environment, write }: Terminal): Promise<() => Promise<void>> {
  const config = readConfig(environment);
  const logger = pino({ level: config.logLevel });
  // Every payment leaves its lines, whatever the level.
  const telemetry = createTelemetry(logger, pino({ level: 'info' }).child({ audit: 'payment' }));
  const sandbox = config.bank === null ? await openSandbox(config.sandbox) : null;
  const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
  const bank = createBankClient({
    ...config.bankLimits,
    baseUrl,
    onCall: telemetry.onCall,
    onBreaker: telemetry.onBreaker,
    onDrift: telemetry.onDrift,
    onShared: telemetry.onShared,
  });
  const store = await openStore(config.state.url, config.state).catch((cause: Error) => {
    throw new StartError(cause.message, { cause });
  });
  const payments = createPayments({
    bank,
    store,
    leaseMs: config.bankLimits.paymentTimeoutMs + leaseMarginMs,
    audit: telemetry.onPayment,
  });
  const server = await serve({
    ...config.http,
    http: { corsOrigins: config.corsOrigins },
    bank,
    payments,
    defaults: { bankId: config.bankId, viewId: config.defaultView },
    limits: config.operationLimits,
    documentLimits: config.documentLimits,
    maxRequestBytes: config.maxRequestBytes,
    load: config.load,
    subscriptionKey: config.subscriptionKey,
    introspection: config.introspection,
    graphiqlHeaders: config.graphiql ? (sandbox === null ? null : alice) : undefined,
    logger,
    onShed: telemetry.onShed,
  });
  const metrics =
    config.metricsPort === null
      ? null
      : await listen(config.http.host, config.metricsPort, async (_request, response) => {
          response.setHeader('Content-Type', telemetry.registry.contentType);
          response.end(await telemetry.registry.metrics());
        });
  write(`${banner(server.url, sandbox?.url ?? null, baseUrl, config.graphiql)}\n`);
  return async () => {
    await server.close();
    await metrics?.close();
    // A client that left does not end its payment.
    await payments.idle();
    await bank.close();
    await store.close();
    await sandbox?.close();
  };
}

/** What is served, where, over which bank, and a first query to paste. */
function banner(url: string, sandboxUrl: string | null, bankUrl: string, graphiql: boolean): string {
  const query = '{ bank { account(accountId: \\"alice-current\\") { label balance { amount currency } } } }';
  const headers = Object.entries(alice).map(([name, value]) => `    -H '${name}: ${value}' \\`);
  return [
    `bankql serves GraphQL at ${url}/graphql${graphiql ? ' (GraphiQL in a browser)' : ''}.`,
    sandboxUrl === null
      ? `The bank is ${bankUrl}.`
      : `The bank is the embedded sandbox bank at ${sandboxUrl}; BANK_BASE_URL names a real one.`,
    `Health: ${url}/health, ready for traffic: ${url}/ready.`,
    ...(sandboxUrl === null
      ? ['', `  curl ${url}/graphql -H 'Content-Type: application/json' -d '{"query":"{ __typename }"}'`]
      : [
          '',
          'A first query, as alice:',
          '',
          `  curl ${url}/graphql -H 'Content-Type: application/json' \\`,
          ...headers,
          `    -d '{"query":"${query}"}'`,
        ]),
    '',
  ].join('\n');
}
