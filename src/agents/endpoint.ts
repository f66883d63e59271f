import {
  createMcpHandler,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { RequestError } from '../graphql/errors.ts';
import type { ObservedOperation } from '../graphql/operation-activity.ts';
import { noRoom, shortAnswer } from '../graphql/result.ts';
import type { YogaOptions } from '../graphql/yoga.ts';
import type { WholeAnswer } from '../http/exchange.ts';
import type { ToolsEndpoint } from '../http/handle.ts';
import { isObject } from '../is-object.ts';
import { version } from '../version.ts';
import {
  type Arguments,
  type CallOptions,
  callTool,
  type Message,
  type ServedTools,
  serveTools,
} from './tool-call.ts';
import { agentsApp, type Tool, type Tools } from './tools.ts';

export interface ToolsEndpointOptions
  extends Omit<YogaOptions, 'persisted' | 'explains'>,
    Pick<ToolsEndpoint, 'authenticate' | 'metadata'>,
    CallOptions {
  readonly tools: Tools;
  /** The WWW-Authenticate parameters for a token that may not pay, after the error. */
  readonly scopeChallenge?: readonly string[] | undefined;
}

/** The headers that the SDK reads. No credential is passed on to it. */
const readHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Never called, because no answer has a form that the SDK would check. A real validator takes milliseconds to create. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('nothing is validated by the SDK');
  },
};

/**
 * Serves tools for agents by the Model Context Protocol: one message for each request, without a session. http/handle.ts has
 * checked the request and read its body; the SDK gets neither. The operations run like those of GraphQL.
 */
export function createToolsEndpoint(options: ToolsEndpointOptions) {
  const { authenticate, metadata, scopeChallenge = [] } = options;
  const serving = (tools: Tools) => ({
    ...serveTools(options, tools),
    list: [...tools.byName.values()].map(listed),
  });
  let served = serving(options.tools);
  /** The messages in progress, by the requests that are passed to the SDK. */
  const messages = new WeakMap<Request, ServedMessage>();
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const message = requestInfo && messages.get(requestInfo);
      if (message === undefined) throw new Error('the SDK serves another request');
      return createServer(era === 'modern', message);
    },
    { maxSubscriptions: 0, keepAliveMs: 0 },
  );

  /** Creates an instance of the SDK for each request, because an instance serves only one connection. */
  function createServer(isModern: boolean, message: ServedMessage): Server {
    const server = new Server(
      { name: 'bankql', version },
      { capabilities: { tools: {} }, inputRequired: { legacyShim: false }, jsonSchemaValidator },
    );
    server.setRequestHandler('tools/list', () => ({ tools: message.served.list }));
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const tool = message.served.byName.get(params.name);
      if (tool === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name.');
      return callTool(tool, params.arguments ?? {}, isModern ? mcpReq : null, message, options);
    });
    return server;
  }

  return {
    authenticate,
    metadata,

    /** Replaces the tools. Calls in progress are not affected. */
    replaceTools(tools: Tools): void {
      served = serving(tools);
    },

    async answer(body, sender): Promise<WholeAnswer> {
      const { credentials, activity, holder, request } = sender;
      const message: ServedMessage = {
        sender,
        served,
        outcome: body.method === 'tools/call' ? 'refused' : 'ok',
      };
      const tool = calledTool(body, served);
      if (tool !== undefined && activity !== null) activity.operation = observedOf(tool);
      if (tool?.key && !credentials.mayPay) throw insufficientScope(scopeChallenge);
      const headers = new Headers({ 'Content-Type': 'application/json' });
      for (const name of readHeaders) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      // The client's signal is not passed on: a lost answer must not be taken for a payment that was not made.
      const sdkRequest = new Request('http://bankql/mcp', { method: 'POST', headers });
      messages.set(sdkRequest, message);
      const response = await handler.fetch(sdkRequest, { parsedBody: body });
      const { status } = response;
      const text = await response.text();
      const bytes = Buffer.byteLength(text);
      const { outcome } = message;
      // An answer of an operation has its room, and says what was paid.
      if (outcome === 'ok' && bytes > shortAnswer && !holder.reserveRoom(bytes)) throw noRoom();
      if (status >= 400 || outcome === 'refused')
        activity?.refused(status, status < 500 ? 'BAD_USER_INPUT' : 'INTERNAL', bytes);
      else activity?.answeredTool(status, bytes, outcome);
      return {
        status,
        headers: ['Content-Type', response.headers.get('content-type') ?? 'text/plain'],
        body: text,
      };
    },
  } satisfies ToolsEndpoint & { readonly replaceTools: (tools: Tools) => void };
}

interface ServedMessage extends Message {
  readonly served: ServedTools & { readonly list: ListToolsResult['tools'] };
}

/** The tool that a message calls; undefined if it calls none. */
function calledTool({ method, params }: Arguments, { byName }: ServedTools): Tool | undefined {
  const name = method === 'tools/call' && isObject(params) ? params.name : undefined;
  return typeof name === 'string' ? byName.get(name) : undefined;
}

/** The facts about a tool for observers, until its operation is executed. */
const observedOf = ({ kind, name, documentHash }: Tool): ObservedOperation => ({
  kind,
  name,
  documentHash,
  apps: [agentsApp],
  deprecatedIn: () => [],
});

/** A tool in the form for agents. */
const listed = ({ name, description, inputSchema, key }: Tool): ListToolsResult['tools'][number] => ({
  name,
  ...(description === undefined ? {} : { description }),
  inputSchema: JSON.parse(JSON.stringify(inputSchema)),
  annotations:
    key === null
      ? { readOnlyHint: true }
      : { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
});

const insufficientScope = (challenge: readonly string[]) =>
  new RequestError('FORBIDDEN', 'This token may not pay. Nothing was sent.', {
    http: {
      status: 403,
      headers: { 'WWW-Authenticate': ['Bearer error="insufficient_scope"', ...challenge].join(', ') },
    },
  });
