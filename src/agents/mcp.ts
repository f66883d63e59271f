import {
  type CallToolRequest,
  type CallToolResult,
  classifyInboundRequest,
  createMcpHandler,
  type InputRequiredResult,
  type JSONRPCMessage,
  type ListToolsResult,
  PerRequestHTTPServerTransport,
  type PerRequestHTTPServerTransportOptions,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Head } from '../http/head.ts';
import { isObject } from '../is-object.ts';
import { version } from '../version.ts';

/** Answers messages of the Model Context Protocol by its SDK. */

/** The revision of the protocol that can ask a person. */
const revision = '2026-07-28';

/** The headers that the SDK reads. No credential is passed on to it. */
const readHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** A message: a JSON object, which need not be a valid message. */
export type Message = Readonly<Record<string, unknown>>;

/** Functions that answer messages: one for each method of the protocol about tools. */
interface MethodHandlers {
  readonly list: () => ListToolsResult;
  /** `asking`: the message's answers to a question; null if the client cannot ask a person. */
  readonly call: (
    params: CallToolRequest['params'],
    asking: ServerContext['mcpReq'] | null,
  ) => Promise<CallToolResult | InputRequiredResult>;
}

interface MessageAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** Never called, because no answer has a form that the SDK would check. A real validator takes milliseconds to create. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('nothing is validated by the SDK');
  },
};

/**
 * Creates an instance of the SDK, which serves one message. `versions`: the revisions that it accepts; by default the older ones, to which
 * `createMcpHandler` adds the newer.
 */
function createServer(handlers: MethodHandlers, canAsk: boolean, versions?: readonly string[]): Server {
  const server = new Server(
    { name: 'bankql', version },
    {
      capabilities: { tools: {} },
      inputRequired: { legacyShim: false },
      jsonSchemaValidator,
      ...(versions && { supportedProtocolVersions: [...versions] }),
    },
  );
  server.setRequestHandler('tools/list', handlers.list);
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    handlers.call(params, canAsk ? mcpReq : null),
  );
  return server;
}

/**
 * Answers a message. The client's signal is not passed on: a lost answer must not be taken for a payment that was not made.
 */
export async function answerMessage(
  message: Message,
  headers: Head['headers'],
  handlers: MethodHandlers,
): Promise<MessageAnswer> {
  const response =
    (await answerCall(message, headers, handlers)) ?? (await answerAny(message, headers, handlers));
  if (!(response instanceof Response)) return response;
  const contentType = response.headers.get('content-type') ?? 'text/plain';
  return { status: response.status, contentType, text: await response.text() };
}

/** Answers any message, or refuses it. */
function answerAny(message: Message, headers: Head['headers'], handlers: MethodHandlers): Promise<Response> {
  const passed = new Headers({ 'Content-Type': 'application/json' });
  for (const name of readHeaders) {
    const value = headers[name];
    if (typeof value === 'string') passed.set(name, value);
  }
  const request = new Request('http://bankql/mcp', { method: 'POST', headers: passed });
  const { fetch } = createMcpHandler(({ era }) => createServer(handlers, era === 'modern'), {
    maxSubscriptions: 0,
    keepAliveMs: 0,
  });
  return fetch(request, { parsedBody: message });
}

/**
 * Answers the most frequent kind of message: a valid call of a tool, with headers that describe it. This costs half as much as
 * `answerAny`, because no request and no response of Fetch are created. Null for any other message.
 */
async function answerCall(
  message: Message,
  headers: Head['headers'],
  handlers: MethodHandlers,
): Promise<MessageAnswer | Response | null> {
  const { method, params } = message;
  if (method !== 'tools/call' || !isObject(params) || typeof params.name !== 'string') return null;
  // The SDK decodes other forms of these headers, and refuses what does not describe the message.
  const isDescribed =
    headers['mcp-protocol-version'] === revision &&
    headers['mcp-method'] === method &&
    headers['mcp-name'] === params.name;
  if (!isDescribed) return null;
  const inbound = { httpMethod: 'POST', protocolVersionHeader: revision, mcpMethodHeader: method };
  const route = classifyInboundRequest({ ...inbound, body: message });
  if (route.kind !== 'modern' || route.messageKind !== 'request') return null;
  const transport = new ResultTransport(route);
  await createServer(handlers, true, [revision]).connect(transport);
  return Promise.race([transport.answer, transport.handleMessage(route.message)]);
}

/**
 * Keeps a result as it is. An error becomes a response, because the SDK knows its status. The transport is never closed:
 * nothing is open, and for each closed transport the SDK would create an error with a stack.
 */
class ResultTransport extends PerRequestHTTPServerTransport {
  readonly answer: Promise<MessageAnswer>;
  readonly #resolve: (answer: MessageAnswer) => void;

  constructor(options: PerRequestHTTPServerTransportOptions) {
    super(options);
    const { promise, resolve } = Promise.withResolvers<MessageAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if (!('result' in message)) return super.send(message);
    this.#resolve({ status: 200, contentType: 'application/json', text: JSON.stringify(message) });
  }
}
