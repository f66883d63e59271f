import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ExecutionResult } from 'graphql';
import { badUserInput } from '../errors.ts';
import type { ToolOutcome } from '../graphql/operation-activity.ts';
import { createBankqlYoga, type YogaOptions } from '../graphql/yoga.ts';
import type { ToolsSender } from '../http/handle.ts';
import { createRespond } from '../http/respond.ts';
import { isObject } from '../is-object.ts';
import { Confirmation } from './confirmation.ts';
import { readState } from './signed-state.ts';
import { keyMember, type Tool, type Tools } from './tools.ts';

/** Executes a call of a tool, from its arguments to its result. */

/** The maximum length of an answer in JSON: more than models read. */
const maxAnswerBytes = 1024 * 1024;

/**
 * Creates the server that executes the operations of tools like those of GraphQL. It is a yoga server that accepts no other
 * documents.
 */
export function serveTools(
  options: Omit<YogaOptions, 'persisted' | 'explains'>,
  { byName, persisted }: Tools,
) {
  const { answerLimits } = options;
  const bytes = Math.min(answerLimits.bytes, maxAnswerBytes);
  const yoga = createBankqlYoga({ ...options, answerLimits: { ...answerLimits, bytes }, persisted });
  return { byName, ...yoga, respond: createRespond({}, yoga.toErrorResult) };
}

type ServedTools = ReturnType<typeof serveTools>;

/** A call of a tool, until it is answered. */
export interface ToolCall {
  readonly sender: ToolsSender;
  /** The tools at the beginning of the call, which are used until its end. */
  readonly served: ServedTools;
  /**
   * How the call ended. It is `refused` until another end is known, and null if the tool's operation was executed, because the
   * operation reports its own end.
   */
  outcome: 'ok' | 'refused' | ToolOutcome | null;
}

export interface CallOptions extends Pick<YogaOptions, 'payments'> {
  /** The payment store's secret, which replicas share. */
  readonly secret: () => string;
  readonly now?: (() => number) | undefined;
}

/** The name under which the client's next call contains the answer to the question. */
const asked = 'confirmation';

/** A message's answers to a question, and the question's state. */
type Answers = Pick<ServerContext['mcpReq'], 'inputResponses' | 'requestState'>;

/**
 * Returns the result of a tool. `answers`: null if the client cannot ask. It never rejects: the SDK would show an unexpected error to
 * the client, and log nothing.
 */
export async function callTool(
  tool: Tool,
  given: Arguments,
  answers: Answers | null,
  call: ToolCall,
  options: CallOptions,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    if (tool.key === null) return resultOf(await execute(tool, given, call), call);
    return answers === null ? refusal(tooOld) : await pay(tool, given, answers, call, options);
  } catch (error) {
    return resultOf(call.served.toErrorResult(error), call);
  }
}

/** Asks the person, or makes the payment to which the person agreed. Nothing is sent without agreement. */
async function pay(
  tool: Tool,
  given: Arguments,
  { inputResponses, requestState }: Answers,
  call: ToolCall,
  { payments, secret, now = Date.now }: CallOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const answer = inputResponse(inputResponses, asked);
  const hasAgreed = answer.kind === 'elicit' && answer.action === 'accept' && answer.content?.pay === true;
  if (answer.kind === 'elicit' && !hasAgreed) {
    call.outcome = 'not agreed';
    return refusal(declined);
  }
  const agreed = hasAgreed ? readState(secret(), requestState<string>(), now()) : null;
  const confirmation = new Confirmation({ payments, secret: secret(), tool, agreed, now });
  // The payment has the key of the question, so that a repeated answer finds the record of the first one.
  const result = await execute(tool, given, call, confirmation, agreed?.key ?? randomUUID());
  const { question } = confirmation;
  if (question === null) return resultOf(result, call, confirmation.key);
  call.outcome = 'asked';
  const form = inputRequired.elicit({ message: question.text, requestedSchema: tick });
  return inputRequired({ inputRequests: { [asked]: form }, requestState: question.state });
}

/** `idempotencyKey`: null for a tool that reads. Errors: BAD_USER_INPUT for arguments that the tool does not have. */
function execute(
  tool: Tool,
  given: Arguments,
  { sender: { credentials, holder, activity, fetchRequest }, served }: ToolCall,
  confirmation: Confirmation | null = null,
  idempotencyKey: string | null = null,
): ExecutionResult | Promise<ExecutionResult> {
  const variables = variablesOf(tool, given, idempotencyKey);
  const params = { documentId: tool.name, operationName: tool.name, variables };
  const payments = confirmation?.payments;
  return served.execute(params, { credentials, holder, activity, payments }, fetchRequest);
}

/**
 * Converts a result to text, because its JSON keeps each digit. An answer without data is an error. `key`: the key of a payment.
 */
function resultOf(result: ExecutionResult, call: ToolCall, key: string | null = null): CallToolResult {
  const { holder, activity, request } = call.sender;
  // The result contains the answer's JSON as a string, which escapes make up to twice as long.
  const room = { reserveRoom: (bytes: number) => holder.reserveRoom(2 * bytes) };
  const answer = call.served.respond(result, {
    mediaType: 'application/json',
    request,
    holder: room,
    activity,
  });
  call.outcome = null;
  const texts = [
    answer.body.toString(),
    ...(key === null ? [] : [`The idempotencyKey of this payment: ${key}`]),
  ];
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    ...(hasFailed(answer.result) ? { isError: true } : {}),
  };
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The form of the question. It has no default, so that only a person ticks it. */
const tick = {
  type: 'object' as const,
  properties: { pay: { type: 'boolean' as const, title: 'Pay', description: 'Tick to send this payment.' } },
  required: ['pay'],
};

/** The variables of the operation: the arguments, and the idempotency key of a payment. Errors: BAD_USER_INPUT. */
function variablesOf({ inputSchema, key }: Tool, given: Arguments, idempotencyKey: string | null): Arguments {
  // GraphQL ignores unknown variables, but a model would believe that they had an effect.
  for (const name of Object.keys(given))
    if (!Object.hasOwn(inputSchema.properties, name))
      throw badUserInput(
        `The tool has no argument of this name. Its arguments: ${Object.keys(inputSchema.properties).join(', ')}.`,
      );
  if (key === null || idempotencyKey === null) return given;
  const { variable, isMember } = key;
  if (!isMember) return { ...given, [variable]: idempotencyKey };
  const input = given[variable];
  // A value that is not an object is refused as a variable.
  if (!isObject(input)) return given;
  if (Object.hasOwn(input, keyMember))
    throw badUserInput('bankql makes the idempotencyKey: leave it out.', `${variable}.${keyMember}`);
  return { ...given, [variable]: { ...input, idempotencyKey } };
}

/**
 * Whether the result has errors and no data. A result with a part of the data is no failure: its errors say
 * what is missing.
 */
const hasFailed = ({ data, errors }: ExecutionResult): boolean =>
  errors !== undefined && Object.values(data ?? {}).every((field) => field === null);

const refusal = (text: string): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError: true,
});

const declined =
  'The person did not agree to this payment. Nothing was sent. Do not ask again unless the person wants it.';

const tooOld =
  'Nothing was sent: a payment needs a question to the person, which this client cannot ask. It needs the protocol of 2026-07-28 with form elicitation.';
