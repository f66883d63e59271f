import type { ExecutionResult, GraphQLError } from 'graphql';
import type { Credentials } from '../bank/credentials.ts';
import type { ErrorCode } from '../errors.ts';
import type { ReadUsage } from '../schema/bank-session.ts';
import type { ExecutableOperation } from './documents.ts';

/** The facts of an operation that observers see. They contain nothing of its text, its variables or its answer. */
export type ObservedOperation = Pick<
  ExecutableOperation,
  'kind' | 'name' | 'documentHash' | 'apps' | 'deprecatedIn'
>;

interface AnsweredResult {
  readonly status: number;
  readonly bytes: number;
  readonly result: ExecutionResult;
}

/** One of the several results of an operation. */
interface Payload {
  /** The length of its JSON. */
  readonly bytes: number;
  readonly errors: readonly GraphQLError[];
  /** Whether the answer has data, not only errors. */
  readonly hasData: boolean;
}

/**
 * How a GraphQL request ended. `partial`: with errors and data. `failed`: with errors only, or broken off by bankql. If an
 * agent's tool pays: `asked` if the answer asks the person to agree, and `not agreed` if the person declined.
 */
type OperationOutcome = 'ok' | 'partial' | 'failed' | 'client left' | ToolOutcome;

/** How a tool call ended, if it did not execute its operation. */
export type ToolOutcome = 'asked' | 'not agreed';

/** The facts about one GraphQL request, from its head to its answer, for the log, the metrics and the traces. */
export class OperationActivity implements ReadUsage {
  readonly requestId: string;
  readonly startedAt = performance.now();
  /** The id of the request's trace; null if the request is not traced. */
  traceId: string | null = null;
  operation: ObservedOperation | null = null;
  /** The client's own name and version, such as `ios-4.2`; null if the client sends none. */
  readonly client: string | null;
  /** Whether the request has the text of a document instead of an id. */
  hasText = false;
  /** The caller's credentials; null until they are known. */
  credentials: Credentials | null = null;
  cached = 0;
  joined = 0;
  stale = 0;
  /** The number of attempts of REST calls that used a connection and have ended. */
  restCalls = 0;
  /** The answer's HTTP status; null until the answer exists. */
  status: number | null = null;
  bytes = 0;
  outcome: OperationOutcome = 'client left';
  codes: readonly string[] = [];
  /** Why the caller was refused, if the error code does not say it; never a value of the request. */
  reason: string | null = null;
  milliseconds = 0;
  #hasData = false;
  #isBrokenOff = false;
  /** The codes of failures that the answer contains as data, such as `userErrors`. */
  readonly #codesInData: string[] = [];

  constructor(requestId: string, client: string | null = null) {
    this.requestId = requestId;
    this.client = client;
  }

  /**
   * The app that sent the operation, as a label: the name of its manifest. If several manifests have the document, it is the one
   * that the client names; `several` if the client names none of them. `other` if no manifest has the document.
   */
  get app(): string {
    const apps = this.operation?.apps ?? [];
    return apps.length > 1 ? (apps.find((app) => app === this.client) ?? 'several') : (apps[0] ?? 'other');
  }

  noteFailure(code: ErrorCode): void {
    this.#codesInData.push(code);
  }

  /** Records the answer; a later answer replaces it. */
  answered({ status, bytes, result: { data, errors } }: AnsweredResult): void {
    this.status = status;
    this.bytes = bytes;
    const hasData = Object.values(data ?? {}).some((field) => field !== null);
    this.#conclude([...codesOf(errors), ...this.#codesInData], hasData);
  }

  /**
   * Records the HTTP answer of a tool call. `outcome`: null if the tool's operation was executed, because `answered` has
   * recorded its end.
   */
  answeredTool(status: number, bytes: number, outcome: 'ok' | ToolOutcome | null): void {
    this.status = status;
    this.bytes = bytes;
    if (outcome !== null) this.outcome = outcome;
  }

  /** Records that one of several results is sent. */
  streamed(status: number, { bytes, errors, hasData }: Payload): void {
    this.status = status;
    this.bytes += bytes;
    // Data that was sent counts, even if a later result has only errors.
    this.#hasData ||= hasData;
    this.#conclude([...this.codes, ...codesOf(errors), ...this.#codesInData.splice(0)], this.#hasData);
  }

  #conclude(codes: readonly string[], hasData: boolean): void {
    this.codes = codes;
    this.outcome = codes.length === 0 ? 'ok' : hasData ? 'partial' : 'failed';
  }

  /** Records that the answer ends early for this reason. The client sees that it is incomplete, but not why. */
  brokenOff(code: ErrorCode): void {
    this.codes = [...this.codes, code];
    this.outcome = 'failed';
    this.#isBrokenOff = true;
  }

  /** Records that the client left before the answer was sent. The codes still say how the operation ended. */
  abandoned(): void {
    if (!this.#isBrokenOff) this.outcome = 'client left';
  }

  /** Records that the request is answered with one error, before its operation is known. */
  refused(status: number, code: ErrorCode, bytes: number): void {
    this.status = status;
    this.codes = [code];
    this.outcome = 'failed';
    this.bytes = bytes;
  }
}

/** The codes of errors. Errors of calls that were given up because the client left are omitted. */
const codesOf = (errors: readonly GraphQLError[] = []): string[] =>
  errors.flatMap(({ extensions }) => (extensions.isGivenUp === true ? [] : String(extensions.code)));
