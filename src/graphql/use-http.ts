import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import { headerPairs } from '../http/head.ts';
import { slices } from '../load/slices.ts';
import { callerNameOf } from './operation-context.ts';
import type { BankqlPlugin } from './plugin-context.ts';

/**
 * Reads requests and writes results by bankql's rules in place of yoga's: the same in both lanes. Yoga writes event streams and
 * multipart.
 */
export const useHttp = (): BankqlPlugin => ({
  onRequestParse({ serverContext, setRequestParser, endResponse, fetchAPI }) {
    const { http } = serverContext;
    // A path such as `/graphql/.` is the endpoint only after normalization: it is not found.
    if (http === undefined) return endResponse(new fetchAPI.Response(null, { status: 404 }));
    setRequestParser(() => slices.begin(callerNameOf(serverContext.asking), () => http.paramsOf() as object));
  },
  async onResultProcess({ result, serverContext, setResult, setResultProcessor, resultProcessor }) {
    if (serverContext.http === undefined) return;
    const { accepted, finish } = serverContext.http;
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
