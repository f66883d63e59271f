import { type ExecutionResult, Kind } from 'graphql';
import { z } from 'zod';
import { createBankClient } from '../bank/client.ts';
import { requestCredentials } from '../bank/credentials.ts';
import { type Config, readConfig } from '../config/config.ts';
import { readText } from '../config/environment.ts';
import { orStop, StartError } from '../errors.ts';
import type { RecordedCall } from '../graphql/explain.ts';
import { createDocumentCheck } from '../graphql/validation.ts';
import { createBankqlYoga } from '../graphql/yoga.ts';
import { Callers } from '../load/callers.ts';
import { createPaymentService } from '../payments/service.ts';
import { createMemoryStore } from '../payments/store/memory-store.ts';
import { authProvider, subscriptionKey } from '../sandbox/identity.ts';
import { startSandbox } from '../sandbox/server.ts';
import { schema } from '../schema/schema.ts';
import { type CliContext, readWords } from './command.ts';

interface Explained {
  readonly file: string;
  readonly operation: string;
  readonly restCalls: number;
  readonly calls: readonly Pick<RecordedCall, 'path' | 'operation' | 'method' | 'url'>[];
  /** The messages of the operation's errors. */
  readonly errors: readonly string[];
}

/**
 * `bankql explain`: the REST calls of operations, which are run against the sandbox bank. Returns the exit code: 1 if an
 * operation makes more than `--max` or has errors, or a file cannot be run.
 */
export async function explainFiles({ args, write, writeError }: CliContext): Promise<number> {
  const { files, operation: wanted, variables, max, json } = readOptions(args);
  const config = readConfig({});
  const { documentLimits } = config.server;
  const check = createDocumentCheck({ schema, documentLimits, introspection: true });
  const failures: string[] = [];
  const explained: Explained[] = [];
  for (const file of files) {
    try {
      const query = readText(file);
      for (const node of orStop(() => check(query), `${file}: `).definitions) {
        if (node.kind !== Kind.OPERATION_DEFINITION) continue;
        const name = node.name?.value;
        if (wanted !== undefined && name !== wanted) continue;
        const made = await run(config, { query, operationName: name, variables });
        explained.push({ file, operation: name ?? node.operation, ...made });
      }
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      failures.push(error.message);
    }
  }
  if (json) write(`${JSON.stringify(explained, null, 2)}\n`);
  else for (const each of explained) write(`${describe(each)}\n`);
  if (wanted !== undefined && explained.length === 0)
    failures.push(`There is no operation ${wanted} in ${files.join(', ')}.`);
  for (const { file, operation, restCalls, errors } of explained) {
    failures.push(...errors.map((message) => `${file}: ${operation}: ${message}`));
    if (restCalls > max)
      failures.push(`${file}: ${operation} makes ${restCalls} REST calls, and --max allows ${max}.`);
  }
  for (const message of failures) writeError(`${message}\n`);
  return failures.length === 0 ? 0 : 1;
}

/** Errors: StartError. */
function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { operation: text, variables: text, max: text, json: { type: 'boolean' } } as const;
  const { values, positionals } = readWords('explain', args, options, true);
  if (positionals.length === 0)
    throw new StartError('Name the files with the queries, such as bankql explain overview.graphql.');
  if (values.max !== undefined && !/^\d{1,9}$/.test(values.max))
    throw new StartError('--max takes a whole number, such as --max 20.');
  return {
    files: positionals,
    operation: values.operation,
    variables: values.variables === undefined ? {} : readVariables(values.variables),
    max: Number(values.max ?? Infinity),
    json: values.json ?? false,
  };
}

function readVariables(file: string): Readonly<Record<string, unknown>> {
  const text = readText(file);
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new StartError(`${file} holds no JSON object of variables.`);
  }
}

/**
 * Runs an operation as alice. Each operation has its own sandbox bank: the cache or a payment of another operation would save
 * it calls.
 */
async function run(
  { server, bankLimits, state }: Config,
  params: Readonly<Record<string, unknown>>,
): Promise<Pick<Explained, 'restCalls' | 'calls' | 'errors'>> {
  await using sandbox = await startSandbox({ port: 0 });
  const bank = createBankClient({ ...bankLimits, baseUrl: sandbox.url });
  const payments = createPaymentService({
    bank,
    store: createMemoryStore(state),
    sendTimeoutMs: bankLimits.paymentTimeoutMs,
    audit() {},
  });
  const unexpected: unknown[] = [];
  const { execute } = createBankqlYoga({
    ...server,
    bank,
    payments,
    explains: true,
    unexpected: (error) => unexpected.push(error),
  });
  const alice = { subscriptionKey, authProviderName: authProvider, authId: 'alice' };
  const credentials = requestCredentials(alice, new Callers());
  const result = await execute(params, { credentials, explain: 'calls' });
  await payments.idle();
  await bank.close();
  if (unexpected.length > 0) throw unexpected[0];
  const { restCalls = 0, calls = [] } = (result.extensions?.explain ?? {}) as {
    readonly restCalls?: number;
    readonly calls?: readonly RecordedCall[];
  };
  return {
    restCalls,
    calls: calls
      .filter(({ source }) => source === 'bank' || source === 'pending')
      .map(({ path, operation, method, url }) => ({ path, operation, method, url })),
    errors: messagesOf(result),
  };
}

const messagesOf = ({ errors = [] }: ExecutionResult): string[] =>
  errors.map(({ message, path }) => (path === undefined ? message : `${path.join('.')}: ${message}`));

function describe({ file, operation, restCalls, calls }: Explained): string {
  const width = Math.max(0, ...calls.map(({ path }) => path.length));
  const lines = calls.map(
    ({ path, method, url, operation: id }) => `  ${path.padEnd(width)}  ${id}: ${method} ${url}\n`,
  );
  return `${file}: ${operation} makes ${restCalls} REST ${restCalls === 1 ? 'call' : 'calls'}\n${lines.join('')}`;
}
