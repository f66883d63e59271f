import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ExecutionResult } from 'graphql';
import { badUserInput } from '../errors.ts';
import { RequestError } from '../graphql/errors.ts';
import type { ObservedOperation, ToolOutcome } from '../graphql/operation-activity.ts';
import { createBankqlYoga, type YogaOptions } from '../graphql/yoga.ts';
import type { WholeAnswer } from '../http/exchange.ts';
import type { ToolsEndpoint, ToolsSender } from '../http/handle.ts';
import { createRespond } from '../http/respond.ts';
import { isObject } from '../is-object.ts';
import { version } from '../version.ts';
import { Confirmation } from './confirmation.ts';
import { readState } from './signed-state.ts';
import { agentsApp, keyMember, type Tool, type Tools } from './tools.ts';

export interface ToolsEndpointOptions
  extends Omit<YogaOptions, 'persisted' | 'explains'>,
    Pick<ToolsEndpoint, 'authenticate' | 'metadata'> {
  readonly tools: Tools;
  /** The payment store's secret, which replicas share. */
  readonly secret: () => string;
  /** What the answer to a token that may not pay says in WWW-Authenticate, behind its error. */
  readonly scopeChallenge?: readonly string[] | undefined;
  readonly now?: (() => number) | undefined;
}

/** The tools, and what executes their operations. A message keeps to those that it began with. */
type ServedTools = ReturnType<ReturnType<typeof toolsServer>>;

/** A message that is answered. */
interface Message {
  readonly sender: ToolsSender;
  readonly served: ServedTools;
  /** How it ended; null if an operation was executed, and has reported it. */
  outcome: 'ok' | 'refused' | ToolOutcome | null;
}

/** The length of an answer in JSON: more than models read. */
const maxAnswerBytes = 1024 * 1024;

/** The name under which the answer to the question comes back. */
const asked = 'confirmation';

/** The headers that the SDK reads. None of a credential reaches it. */
const readHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** An answer is in no form that the SDK would check: it needs no validator, which takes milliseconds to make. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('nothing is validated by the SDK');
  },
};

const toolsServer =
  (options: Omit<YogaOptions, 'persisted' | 'explains'>) =>
  ({ byName, persisted }: Tools) => {
    const { answerLimits } = options;
    const bytes = Math.min(answerLimits.bytes, maxAnswerBytes);
    const yoga = createBankqlYoga({ ...options, answerLimits: { ...answerLimits, bytes }, persisted });
    const respond = createRespond({}, yoga.toErrorResult);
    return { byName, ...yoga, respond, list: [...byName.values()].map(listed) };
  };

/**
 * Serves tools for agents by the Model Context Protocol: one message for each request, without a session. The door has checked the
 * request, and read its body: the SDK gets neither. The operations run as those of GraphQL do.
 */
export function createToolsEndpoint(options: ToolsEndpointOptions) {
  const { authenticate, metadata, secret, scopeChallenge = [], now = Date.now } = options;
  const serve = toolsServer(options);
  let served = serve(options.tools);
  /** The messages under way, by the requests that the SDK passes on. */
  const messages = new WeakMap<Request, Message>();
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const message = requestInfo && messages.get(requestInfo);
      if (message === undefined) throw new Error('the SDK serves another request');
      return createServer(era === 'modern', message);
    },
    { maxSubscriptions: 0, keepAliveMs: 0 },
  );

  /** One for each request: an instance of the SDK serves one connection. */
  function createServer(isModern: boolean, message: Message): Server {
    const server = new Server(
      { name: 'bankql', version },
      { capabilities: { tools: {} }, inputRequired: { legacyShim: false }, jsonSchemaValidator },
    );
    server.setRequestHandler('tools/list', () => ({ tools: message.served.list }));
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const tool = message.served.byName.get(params.name);
      if (tool === undefined) {
        message.outcome = 'refused';
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name.');
      }
      const given = params.arguments ?? {};
      if (tool.key === null) return read(tool, given, message);
      if (isModern) return pay(tool, given, mcpReq, message);
      message.outcome = 'refused';
      return refusal(tooOld);
    });
    return server;
  }

  async function read(tool: Tool, given: Arguments, message: Message): Promise<CallToolResult> {
    return resultOf(await execute(tool, given, message), message);
  }

  /** Asks, or pays what was agreed to. Nothing is sent before that. */
  async function pay(
    tool: Tool,
    given: Arguments,
    { inputResponses, requestState }: ServerContext['mcpReq'],
    message: Message,
  ): Promise<CallToolResult | InputRequiredResult> {
    const answer = inputResponse(inputResponses, asked);
    const hasAgreed = answer.kind === 'elicit' && answer.action === 'accept' && answer.content?.pay === true;
    if (answer.kind === 'elicit' && !hasAgreed) {
      message.outcome = 'not agreed';
      return refusal(declined);
    }
    const state = requestState<string>();
    const confirmation = new Confirmation({
      payments: options.payments,
      secret: secret(),
      tool,
      agreed: hasAgreed ? readState(secret(), state, now()) : null,
      now,
    });
    const result = await execute(tool, given, message, confirmation);
    const { question } = confirmation;
    if (question === null) return resultOf(result, message, confirmation.key);
    message.outcome = 'asked';
    const form = inputRequired.elicit({ message: question.text, requestedSchema: tick });
    return inputRequired({ inputRequests: { [asked]: form }, requestState: question.state });
  }

  function execute(
    tool: Tool,
    given: Arguments,
    { sender: { credentials, holder, activity, fetchRequest }, served }: Message,
    confirmation: Confirmation | null = null,
  ): ExecutionResult | Promise<ExecutionResult> {
    let variables: Arguments;
    try {
      variables = variablesOf(tool, given);
    } catch (error) {
      return served.toErrorResult(error);
    }
    const params = { documentId: tool.name, operationName: tool.name, variables };
    const payments = confirmation?.payments;
    return served.execute(params, { credentials, holder, activity, payments }, fetchRequest);
  }

  /** The result as text: its JSON keeps each digit. An answer without data is an error. `key`: that of a payment. */
  function resultOf(result: ExecutionResult, message: Message, key: string | null = null): CallToolResult {
    const { holder, activity, request } = message.sender;
    // As a text in JSON, the answer has up to twice its length.
    const room = { reserveRoom: (bytes: number) => holder.reserveRoom(2 * bytes) };
    const answer = message.served.respond(result, {
      mediaType: 'application/json',
      request,
      holder: room,
      activity,
    });
    message.outcome = null;
    const texts = [
      answer.body.toString(),
      ...(key === null ? [] : [`The idempotencyKey of this payment: ${key}`]),
    ];
    return {
      content: texts.map((text) => ({ type: 'text', text })),
      ...(hasFailed(answer.result) ? { isError: true } : {}),
    };
  }

  return {
    authenticate,
    metadata,

    /** Replaces the tools; calls under way are not affected. */
    replaceTools(tools: Tools): void {
      served = serve(tools);
    },

    async answer(body, sender): Promise<WholeAnswer> {
      const { credentials, activity, request } = sender;
      const message: Message = { sender, served, outcome: 'ok' };
      const tool = calledTool(body, served);
      if (tool !== undefined && activity !== null) activity.operation = observedOf(tool);
      if (tool?.key && !credentials.mayPay) throw insufficientScope(scopeChallenge);
      const headers = new Headers({ 'Content-Type': 'application/json' });
      for (const name of readHeaders) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      // Without the client's signal: an answer that is lost must not be taken for a payment that is not made.
      const sdkRequest = new Request('http://bankql/mcp', { method: 'POST', headers });
      messages.set(sdkRequest, message);
      const response = await handler.fetch(sdkRequest, { parsedBody: body });
      const { status } = response;
      const text = await response.text();
      const bytes = Buffer.byteLength(text);
      const { outcome } = message;
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

/** The tool that a message calls, if it calls one. */
function calledTool({ method, params }: Arguments, { byName }: ServedTools): Tool | undefined {
  const name = method === 'tools/call' && isObject(params) ? params.name : undefined;
  return typeof name === 'string' ? byName.get(name) : undefined;
}

type Arguments = Readonly<Record<string, unknown>>;

/** The form of the question. Without a default: only a person ticks it. */
const tick = {
  type: 'object' as const,
  properties: { pay: { type: 'boolean' as const, title: 'Pay', description: 'Tick to send this payment.' } },
  required: ['pay'],
};

/** The variables of the operation: the arguments, and a new idempotency key. Errors: BAD_USER_INPUT. */
function variablesOf({ inputSchema, key }: Tool, given: Arguments): Arguments {
  // GraphQL ignores unknown variables; a model would believe that they had an effect.
  for (const name of Object.keys(given))
    if (!Object.hasOwn(inputSchema.properties, name))
      throw badUserInput(
        `The tool has no argument of this name. Its arguments: ${Object.keys(inputSchema.properties).join(', ')}.`,
      );
  if (key === null) return given;
  const { variable, isMember } = key;
  const idempotencyKey: string = randomUUID();
  if (!isMember) return { ...given, [variable]: idempotencyKey };
  const input = given[variable];
  // What is no object is refused as a variable.
  if (!isObject(input)) return given;
  if (Object.hasOwn(input, keyMember))
    throw badUserInput('bankql makes the idempotencyKey: leave it out.', `${variable}.${keyMember}`);
  return { ...given, [variable]: { ...input, idempotencyKey } };
}

/** Whether there are only errors: with a part of the data, they say what is missing. */
const hasFailed = ({ data, errors }: ExecutionResult): boolean =>
  errors !== undefined && Object.values(data ?? {}).every((field) => field === null);

/** A tool as observers see it until its operation is executed. */
const observedOf = ({ kind, name, documentHash }: Tool): ObservedOperation => ({
  kind,
  name,
  documentHash,
  apps: [agentsApp],
  deprecatedIn: () => [],
});

/** A tool as agents see it. */
const listed = ({ name, description, inputSchema, key }: Tool): ListToolsResult['tools'][number] => ({
  name,
  ...(description === undefined ? {} : { description }),
  inputSchema: JSON.parse(JSON.stringify(inputSchema)),
  annotations:
    key === null
      ? { readOnlyHint: true }
      : { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
});

const refusal = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true });

const declined =
  'The person did not agree to this payment. Nothing was sent. Do not ask again unless the person wants it.';

const tooOld =
  'Nothing was sent: a payment needs a question to the person, which this client cannot ask. It needs the protocol of 2026-07-28 with form elicitation.';

const insufficientScope = (challenge: readonly string[]) =>
  new RequestError('FORBIDDEN', 'This token may not pay. Nothing was sent.', {
    http: {
      status: 403,
      headers: { 'WWW-Authenticate': ['Bearer error="insufficient_scope"', ...challenge].join(', ') },
    },
  });
