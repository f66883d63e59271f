import { type ListToolsResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { RequestError } from '../graphql/errors.ts';
import type { ObservedOperation } from '../graphql/operation-activity.ts';
import { noRoom, shortAnswer } from '../graphql/result.ts';
import type { YogaOptions } from '../graphql/yoga.ts';
import type { WholeAnswer } from '../http/exchange.ts';
import type { ToolsEndpoint } from '../http/handle.ts';
import { isObject } from '../is-object.ts';
import { answerMessage, type Message } from './mcp.ts';
import { type CallOptions, callTool, serveTools, type ToolCall } from './tool-call.ts';
import { agentsApp, type Tool, type Tools } from './tools.ts';

export interface ToolsEndpointOptions
  extends Omit<YogaOptions, 'persisted' | 'explains'>,
    Pick<ToolsEndpoint, 'authenticate' | 'metadata'>,
    CallOptions {
  readonly tools: Tools;
  /** The parameters that WWW-Authenticate has after the error, if a token may not pay. */
  readonly scopeChallenge?: readonly string[] | undefined;
}

/**
 * Serves tools for agents by the Model Context Protocol: one message for each request, without a session. http/handle.ts has
 * checked the request and read its body. The operations run like those of GraphQL.
 */
export function createToolsEndpoint(options: ToolsEndpointOptions) {
  const { authenticate, metadata, scopeChallenge = [] } = options;
  const serving = (tools: Tools) => ({
    ...serveTools(options, tools),
    list: [...tools.byName.values()].map(listed),
  });
  let current = serving(options.tools);

  return {
    authenticate,
    metadata,

    /** Replaces the tools. Calls in progress are not affected. */
    replaceTools(tools: Tools): void {
      current = serving(tools);
    },

    async answer(message, sender): Promise<WholeAnswer> {
      const { credentials, activity, holder, request } = sender;
      const served = current;
      const tool = calledTool(message, served.byName);
      if (tool !== undefined && activity !== null) activity.operation = observedOf(tool);
      if (tool?.key && !credentials.mayPay) throw insufficientScope(scopeChallenge);
      const call: ToolCall = {
        sender,
        served,
        outcome: message.method === 'tools/call' ? 'refused' : 'ok',
      };
      const { status, contentType, text } = await answerMessage(message, request.headers, {
        list: () => ({ tools: served.list }),
        call: async ({ arguments: given = {} }, asking) => {
          if (tool === undefined)
            throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name.');
          return callTool(tool, given, asking, call, options);
        },
      });
      const bytes = Buffer.byteLength(text);
      const { outcome } = call;
      // Only this outcome needs memory here: an operation has reserved memory for its own answer, which says
      // what was paid.
      if (outcome === 'ok' && bytes > shortAnswer && !holder.reserveRoom(bytes)) throw noRoom();
      if (status >= 400 || outcome === 'refused')
        activity?.refused(status, status < 500 ? 'BAD_USER_INPUT' : 'INTERNAL', bytes);
      else activity?.answeredTool(status, bytes, outcome);
      return { status, headers: ['Content-Type', contentType], body: text };
    },
  } satisfies ToolsEndpoint & { readonly replaceTools: (tools: Tools) => void };
}

/** The tool that a message calls; undefined if it calls none. */
function calledTool({ method, params }: Message, byName: Tools['byName']): Tool | undefined {
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
