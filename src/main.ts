import { pino } from 'pino';
import { createBankClient } from './bank/client.ts';
import { readConfig, StartError } from './config.ts';
import { runDoctor } from './doctor/doctor.ts';
import { DoctorOptionError, doctorUsage, readDoctorOptions } from './doctor/options.ts';
import { openStore } from './payments/open-store.ts';
import { createPayments } from './payments/payments.ts';
import { example } from './sandbox/example.ts';
import { FaultError } from './sandbox/faults/fault.ts';
import * as sandboxIdentity from './sandbox/identity.ts';
import { startSandbox } from './sandbox/server.ts';
import { listen, serve } from './server/server.ts';
import { createTelemetry } from './server/telemetry.ts';

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
  const logger = pino({ level: config.logLevel });
  // Every payment leaves its line, whatever the level.
  const audit = pino({ level: 'info' }).child({ audit: 'payment' });
  const telemetry = createTelemetry(logger, audit);
  const sandbox = config.bank === null ? await startSandbox(config.sandbox) : null;
  const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
  const bank = createBankClient({
    ...config.bankLimits,
    baseUrl,
    onCall: telemetry.onCall,
    onBreaker: telemetry.onBreaker,
    onDrift: telemetry.onDrift,
    onShared: telemetry.onShared,
  });
  const store = await openStore(config.state.url, { retentionMs: config.state.retentionMs }).catch(
    (cause: Error) => {
      throw new StartError(cause.message, { cause });
    },
  );
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
  process.stdout.write(`${banner(server.url, sandbox?.url ?? null, baseUrl, config.graphiql)}\n`);
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

/** `bankql sandbox`: the sandbox bank alone. */
async function startSandboxBank() {
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

/** `bankql doctor`: holds a bank's answers against the contract. Gives the exit code. */
async function examineBank(args: readonly string[]): Promise<number> {
  // It keeps no state and listens nowhere.
  const config = readConfig({ ...process.env, STATE_URL: 'memory:', HOST: undefined });
  const write = (text: string) => void process.stdout.write(text);
  const given = {
    ids: { ...(config.bankId === null ? {} : { 'bank-id': config.bankId }), view: config.defaultView },
    credentials: { subscriptionKey: config.subscriptionKey, authProviderName: null, authId: null },
  };
  const options = readDoctorOptions(args, process.env, config.bank === null ? example : given);
  if (options === null) {
    write(doctorUsage);
    return 0;
  }
  const sandbox = config.bank === null ? await startSandbox({ ...config.sandbox, port: 0 }) : null;
  try {
    const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
    return await runDoctor({ ...options, bank: { ...config.bankLimits, baseUrl }, write });
  } finally {
    await sandbox?.close();
  }
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

/** Runs until a signal comes, and then ends what runs. */
function serveUntilSignal(stop: () => Promise<void>): void {
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
  if (error instanceof StartError || error instanceof DoctorOptionError) return error.message;
  if (error instanceof FaultError)
    return `SANDBOX_FAULTS=${process.env.SANDBOX_FAULTS ?? ''} cannot be used: ${error.message}.`;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}: another process listens there; give another PORT or SANDBOX_PORT.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const [, , command, ...args] = process.argv;
try {
  if (command === 'doctor') process.exitCode = await examineBank(args);
  else if (command === 'sandbox') serveUntilSignal(await startSandboxBank());
  else if (command === undefined) serveUntilSignal(await startBankql());
  else throw new StartError(`bankql knows no command "${command}": sandbox, doctor, or none to serve.`);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  // Two, for the doctor: one says that a bank does not conform.
  process.exit(command === 'doctor' ? 2 : 1);
}
