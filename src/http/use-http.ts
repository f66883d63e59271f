import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import { callerNameOf, type OperationRequest } from '../graphql/operation-context.ts';
import type { BankqlPlugin } from '../graphql/use-pipeline.ts';
import { slices } from '../load/slices.ts';
import type { Accepted } from './accept.ts';
import { type GraphQLHttpResponse, headerPairs } from './response.ts';

/** A request that yoga's Fetch handler serves, with bankql's rules for it. */
export class FetchedRequest implements OperationRequest {
  readonly credentials: OperationRequest['credentials'];
  readonly isReadOnly: OperationRequest['isReadOnly'];
  readonly incremental: OperationRequest['incremental'];
  readonly explain: OperationRequest['explain'];
  readonly holder: OperationRequest['holder'];
  readonly activity: OperationRequest['activity'];
  /** The parameters of the request. Errors: why it is not served. */
  readonly readParams: () => unknown;
  /** The formats that the client accepts. */
  readonly accepted: Accepted;
  /** The answer to the whole request, as the short lane would give it. */
  readonly finish: (result: ExecutionResult) => GraphQLHttpResponse;

  constructor(
    request: OperationRequest,
    accepted: Accepted,
    readParams: () => unknown,
    finish: (result: ExecutionResult) => GraphQLHttpResponse,
  ) {
    this.credentials = request.credentials;
    this.isReadOnly = request.isReadOnly;
    this.incremental = request.incremental;
    this.explain = request.explain;
    this.holder = request.holder;
    this.activity = request.activity;
    this.accepted = accepted;
    this.readParams = readParams;
    this.finish = finish;
  }
}

/**
 * Reads requests and writes results by bankql's rules in place of yoga's: the same in both lanes. Yoga writes event streams and
 * multipart.
 */
export const useHttp = (): BankqlPlugin => ({
  onRequestParse({ serverContext, setRequestParser, endResponse, fetchAPI }) {
    const request = serverContext.bankql?.request;
    // A path such as `/graphql/.` is the endpoint only after normalization: it is not found.
    if (!(request instanceof FetchedRequest))
      return endResponse(new fetchAPI.Response(null, { status: 404 }));
    setRequestParser(() => slices.begin(callerNameOf(request), () => request.readParams() as object));
  },
  async onResultProcess({ result, serverContext, setResult, setResultProcessor, resultProcessor }) {
    const request = serverContext.bankql?.request;
    if (!(request instanceof FetchedRequest)) return;
    const { accepted, finish } = request;
    if (!isAsyncIterable(result) && accepted.mediaType !== null) {
      const { status, headers, body } = await finish(result as ExecutionResult);
      const answered = [...headers, 'Content-Length', String(Buffer.byteLength(body))];
      return setResultProcessor(
        (_result, fetchAPI) => new fetchAPI.Response(body, { status, headers: headerPairs(answered) }),
        accepted.mediaType,
      );
    }
    const { stream } = accepted;
    if (stream === null || resultProcessor === undefined) return;
    // A client that takes nothing but a stream gets a single result as a stream of one.
    const single = isAsyncIterable(result) ? null : await finish(result as ExecutionResult);
    if (single !== null) setResult({ stringify: () => String(single.body) } as object);
    setResultProcessor(async (shown, fetchAPI, type) => {
      const { body, headers } = await resultProcessor(shown as object, fetchAPI, type);
      // Node frames the answer, and every answer has a policy for caches.
      for (const name of ['Connection', 'Transfer-Encoding', 'Content-Encoding', 'Cache-Control'])
        headers.delete(name);
      if (single === null) {
        headers.set('Content-Type', `${headers.get('Content-Type')}; ${stream.spec}`);
        // A proxy that collects the whole answer would undo the stream.
        headers.set('X-Accel-Buffering', 'no');
      }
      for (const [name, value] of headerPairs(single?.headers ?? []))
        if (name !== 'Content-Type') headers.set(name, value);
      const content = single === null ? body : await new fetchAPI.Response(body).text();
      if (typeof content === 'string') headers.set('Content-Length', String(Buffer.byteLength(content)));
      // Clients of event streams show the events of a 200, and of other answers only that they failed.
      const { status = 200 } = single ?? {};
      return new fetchAPI.Response(content, {
        status: status === 400 && stream.type === 'text/event-stream' ? 200 : status,
        headers,
      });
    }, stream.type);
  },
});
