import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToolsEndpoint, type ToolsEndpointOptions } from '../../src/agents/endpoint.ts';
import { loadTools } from '../../src/agents/tools.ts';
import { type ServerOptions, serve } from '../../src/http/server.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { schema } from '../../src/schema/schema.ts';
import { createOperationObserver } from '../../src/telemetry/operation-observer.ts';
import { type TestOptions, testOptions } from './bankql.ts';
import { capacityLimits } from './capacity-limits.ts';
import type { RecordedCall } from './recording-bank.ts';
import { type SandboxRecorder, startSandboxRecorder } from './sandbox-recorder.ts';

/** Documents of tools for alice, a customer of the sandbox bank. */
export const paymentDocument = `
"Pays from one account to another."
mutation Pay(
  "The payment."
  $input: MakeTransactionInput!
) {
  makeTransaction(input: $input) { replayed payment { state trackId value { amount } } userErrors { code message trackId } }
}`;

export const documents: Readonly<Record<string, string>> = {
  'accounts.graphql': `
"The balance of an account."
query Balance("The id of the account." $account: ID!) { bank { account(accountId: $account) { balance { amount currency } } } }
query Anything { bank { bankId } }`,
  'pay.graphql': paymentDocument,
  'paid.graphql': 'query Paid($key: String!) { payment(idempotencyKey: $key) { state } }',
};

/** Creates a folder with these documents. */
export function documentsFolder(texts: Readonly<Record<string, string>> = documents) {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-tools-'));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  return {
    path: folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Whether a call moves money: a transfer, or a request for one. */
const isPayment = ({ method, path }: RecordedCall) =>
  (method === 'POST' && path.endsWith('/make-transaction')) ||
  (method === 'PUT' && path.includes('/transaction-request'));

/** Alice's credentials at the sandbox bank. */
export const alice = {
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': 'alice',
} as const;

export const input = (amount = '12.50', to = 'bob-current') => ({
  accountId: 'alice-current',
  to: { accountId: to, bankId: 'SNDBCY2N' },
  value: { amount, currency: 'EUR' },
  description: 'rent',
});

const envelope = 'io.modelcontextprotocol';
const revision = '2026-07-28';

const formClient = { elicitation: { form: {} } };

/** The parts of a call besides its arguments. */
export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly capabilities?: object;
  readonly inputResponses?: object;
  readonly requestState?: string | undefined;
  readonly signal?: AbortSignal;
}

/** The person agrees. */
export const agreed = { confirmation: { action: 'accept', content: { pay: true } } };

/** A message of the protocol's version 2026-07-28. */
export function messageOf(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { capabilities = formClient, inputResponses, requestState }: Asked = {},
) {
  const name: Readonly<Record<string, string>> =
    typeof params.name === 'string' ? { 'Mcp-Name': params.name } : {};
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': revision,
    'Mcp-Method': method,
    ...name,
  };
  const _meta = {
    [`${envelope}/protocolVersion`]: revision,
    [`${envelope}/clientInfo`]: { name: 'test', version: '1' },
    [`${envelope}/clientCapabilities`]: capabilities,
  };
  const all = {
    ...params,
    ...(inputResponses && { inputResponses }),
    ...(requestState && { requestState }),
    _meta,
  };
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: all }) };
}

/** Posts a message. */
export async function send(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  more: Asked = {},
) {
  const { headers, body } = messageOf(method, params, more);
  const { headers: own = alice, signal } = more;
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, ...own },
    body,
    ...(signal && { signal }),
  });
}

/** A result of a tool: an answer, or a question. */
interface ToolResult {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text: string }[];
  readonly resultType?: string;
  readonly requestState?: string;
  readonly inputRequests?: {
    readonly confirmation: {
      readonly params: { readonly message: string; readonly requestedSchema: object };
    };
  };
}

/** Calls a tool. */
export async function call(
  url: string,
  name: string,
  given: Readonly<Record<string, unknown>>,
  more: Asked = {},
): Promise<ToolResult> {
  const response = await send(url, 'tools/call', { name, arguments: given }, more);
  const { result, error } = JSON.parse(await response.text());
  if (result === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`);
  return result;
}

/** The answer of the tool's operation. */
export const answerOf = ({ content = [] }: ToolResult) => JSON.parse(content[0]?.text ?? 'null');

export const questionIn = ({ inputRequests }: ToolResult): string =>
  inputRequests?.confirmation.params.message ?? '';

/** Agrees to a tool's question: calls the tool again, with the state of the question. */
export const agree = (
  url: string,
  name: string,
  given: Readonly<Record<string, unknown>>,
  asked: ToolResult,
  more: Asked = {},
) => call(url, name, given, { inputResponses: agreed, requestState: asked.requestState, ...more });

interface AgentsFixture extends AsyncDisposable {
  readonly bank: SandboxRecorder;
  /** The address of /mcp. */
  readonly url: string;
  readonly graphql: string;
  readonly log: string[];
  readonly store: PaymentStore;
  readonly server: Awaited<ReturnType<typeof serve>>;
  readonly endpoint: ReturnType<typeof createToolsEndpoint>;
  /** The number of payments that reached the bank. */
  payments(): number;
}

type FixtureOptions = Partial<ServerOptions> &
  Partial<Pick<ToolsEndpointOptions, 'secret' | 'now'>> &
  Omit<TestOptions, 'bankUrl'> & { readonly documents?: Readonly<Record<string, string>> };

/** bankql with tools over a socket, in front of the sandbox bank. Callers are identified by headers. */
export async function startAgents(options: FixtureOptions = {}): Promise<AgentsFixture> {
  const bank = await startSandboxRecorder();
  const store =
    options.store ?? createMemoryStore({ retentionMs: 86_400_000, ...(options.now && { now: options.now }) });
  const testing = await testOptions({
    defaults: { bankId: 'SNDBCY2N', viewId: 'owner' },
    ...options,
    store,
    bankUrl: bank.recorder.url,
  });
  using folder = documentsFolder(options.documents);
  const tools = await loadTools(folder.path, {
    schema,
    documentLimits: testing.documentLimits,
    introspection: true,
  });
  const { logger } = testing;
  const observer = createOperationObserver({ logger, metrics: null, tracing: null, callerHash: () => null });
  const endpoint = createToolsEndpoint({
    ...testing,
    tools,
    metadata: null,
    secret: options.secret ?? (() => store.secret),
    now: options.now,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
  });
  const server = await serve({
    host: '127.0.0.1',
    port: 0,
    capacity: capacityLimits(),
    observer,
    ...testing,
    tools: endpoint,
  });
  return {
    bank,
    store,
    server,
    endpoint,
    url: `${server.url}/mcp`,
    graphql: `${server.url}/graphql`,
    log: testing.log,
    payments: () => bank.recorder.calls.filter(isPayment).length,
    async [Symbol.asyncDispose]() {
      await server.close();
      await bank[Symbol.asyncDispose]();
    },
  };
}

/** Holds the answers of the bank until `released` is resolved. `arrived` resolves when the bank gets a call. */
export function holdBank({ bank: { recorder, forward } }: AgentsFixture) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  recorder.otherwise(async (call) => {
    arrived.resolve();
    await released.promise;
    return forward(call);
  });
  return { arrived, released };
}
