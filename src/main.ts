import { pino } from 'pino';
import { createBankClient } from './bank/client.ts';
import { readConfig, StartError } from './config.ts';
import { openStore } from './payments/open-store.ts';
import { runOperatorCommand } from './payments/operator-command.ts';
import { createPayments } from './payments/payments.ts';
import * as sandboxIdentity from './sandbox/identity.ts';

/** How much longer than its deadline a payment's record is believed to be under way. */
const leaseMarginMs = 10_000;

const alice = {
  'Ocp-Apim-Subscription-Key': sandboxIdentity.subscriptionKey,
  'Auth-Provider-Name': sandboxIdentity.authProvider,
  'Auth-ID': 'alice',
};

/** `bankql`: serves GraphQL, over the configured bank or the embedded sandbox bank. */
async function startBankql() {
  const config = readConfig(process.env);
  // Here, so that the operator's command does not load them.
  const { serve } = await import('./server/server.ts');
  const { startSandbox } = await import('./sandbox/server.ts');
  const logger = pino({ level: config.logLevel });
  // Every payment leaves its lines, whatever the level, and before what they tell of: a line that waits in memory would
  // be lost with the process.
  const audit = pino({ level: 'info' }, pino.destination({ dest: 1, sync: true })).child({
    audit: 'payment',
  });
  const sandbox = config.bank === null ? await startSandbox(config.sandbox) : null;
  const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
  const bank = createBankClient({
    ...config.bankLimits,
    baseUrl,
    onCall: (call) =>
      logger[call.failure !== null || (call.status ?? 0) >= 500 ? 'warn' : 'debug'](call, 'bank call'),
  });
  const store = await openStore(config.state.url, config.state).catch((cause: Error) => {
    throw new StartError(cause.message, { cause });
  });
  const payments = createPayments({
    bank,
    store,
    leaseMs: config.bankLimits.paymentTimeoutMs + leaseMarginMs,
    audit: (entry) => audit.info(entry, 'payment'),
  });
  const server = await serve(
    {
      bank,
      payments,
      defaults: { bankId: config.bankId, viewId: config.defaultView },
      subscriptionKey: config.subscriptionKey,
      introspection: config.introspection,
      graphiqlHeaders: config.graphiql ? (sandbox === null ? null : alice) : undefined,
      logger,
    },
    config.http,
  );
  process.stdout.write(`${banner(server.url, sandbox?.url ?? null, baseUrl, config.graphiql)}\n`);
  return async () => {
    await server.close();
    // A client that left does not end its payment.
    await payments.idle();
    await bank.close();
    await store.close();
    await sandbox?.close();
  };
}

/** `bankql sandbox`: the sandbox bank alone. */
async function startSandboxBank() {
  const { startSandbox } = await import('./sandbox/server.ts');
  const { sandbox: options } = readConfig({ ...process.env, BANK_BASE_URL: undefined, SANDBOX: 'on' });
  const sandbox = await startSandbox(options);
  process.stdout.write(
    [
      `The sandbox bank answers at ${sandbox.url}, to callers alice and bob.`,
      '',
      `  curl ${sandbox.url}/v1/api/banks/${sandboxIdentity.bankId}/branches -H 'Ocp-Apim-Subscription-Key: ${sandboxIdentity.subscriptionKey}'`,
      '',
    ].join('\n'),
  );
  return () => sandbox.close();
}

/** `bankql payments …`: lists payments, and settles those of unknown outcome; then the process ends by itself. */
async function runPayments() {
  const { state } = readConfig({ ...process.env, SANDBOX: 'on' });
  process.exitCode = await runOperatorCommand({
    args: process.argv.slice(3),
    state,
    write: (text) => process.stdout.write(text),
    writeError: (text) => process.stderr.write(text),
  });
}

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

try {
  const [command] = process.argv.slice(2);
  if (command === 'payments') await runPayments();
  else endOnSignal(await (command === 'sandbox' ? startSandboxBank() : startBankql()));
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

function endOnSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const end = () => {
    // Whoever asks twice does not want to wait.
    if (stopping) process.exit(1);
    stopping = true;
    void stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

/** What stops the start, in one line where it is known. */
function explain(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}: another process listens there; give another PORT or SANDBOX_PORT.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
