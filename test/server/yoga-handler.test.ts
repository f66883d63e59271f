import { expect, test } from 'vitest';
import type { Engine, EngineRequest, OperationParams } from '../../src/engine/engine.ts';
import { RequestError } from '../../src/engine/errors.ts';
import { createResultSerializer } from '../../src/server/response.ts';
import { createYogaHandler } from '../../src/server/yoga-handler.ts';

/** What the engine is asked by yoga's handler: the request's own operation, in two steps. What is answered: handlers.test.ts. */

const caller = {} as never;

function handlerOver(executeParams: Engine['executeParams'] = () => ({ data: { answer: 1 } })) {
  const parsed: unknown[] = [];
  const executed: { params: OperationParams; request: EngineRequest }[] = [];
  const toErrorResult: Engine['toErrorResult'] = (error) => ({ errors: [error as RequestError] });
  const engine: Omit<Engine, 'executeIncrementally'> = {
    parseParams(asked) {
      parsed.push(asked);
      if (Object(asked).documentId === 'unknown')
        throw new RequestError('PERSISTED_DOCUMENT_REQUIRED', 'No such document.');
      return {
        query: '{ parsed }',
        operationName: null,
        variables: { parsed: true },
        extensions: { own: 1 },
      };
    },
    executeParams(params, request) {
      executed.push({ params, request });
      return executeParams(params, request);
    },
    execute: () => {
      throw new Error('yoga takes the two steps');
    },
    toErrorResult,
  };
  const { fetch } = createYogaHandler({
    engine,
    identify: () => caller,
    serializeResult: createResultSerializer(engine),
    sendAnswer: () => null,
    maxRequestBytes: 100,
    isReady: () => true,
  });
  return { fetch, parsed, executed };
}

const url = 'http://localhost/graphql';
const post = (body: string, headers = {}) =>
  new Request(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });

test.each([
  [
    'a GET',
    new Request(`${url}?query=%7B+a+%7D&variables=%7B%22n%22%3A1%7D`),
    true,
    { query: '{ a }', variables: { n: 1 } },
  ],
  ['a POST', post('{"query":"{ a }","extensions":{"b":1}}'), false, { query: '{ a }', extensions: { b: 1 } }],
  ['a POST of an id', post('{"documentId":"known"}'), false, { documentId: 'known' }],
])('%s is parsed as it came, and what was parsed is executed', async (_what, request, isReadOnly, asked) => {
  const { fetch, parsed, executed } = handlerOver();
  expect(await (await fetch(request)).json()).toEqual({ data: { answer: 1 } });
  expect(parsed).toEqual([asked]);
  expect(executed.map(({ params }) => params)).toEqual([
    { query: '{ parsed }', operationName: null, variables: { parsed: true }, extensions: { own: 1 } },
  ]);
  expect(executed[0]?.request).toMatchObject({ credentials: caller, isReadOnly });
  expect(executed[0]?.request.signal?.()).toBeInstanceOf(AbortSignal);
});

test.each([
  ['by the engine', post('{"documentId":"unknown"}'), 400, 'PERSISTED_DOCUMENT_REQUIRED', 1],
  ['for its body', post('{'), 400, 'BAD_USER_INPUT', 0],
  ['for its length', post(`{"query":"${'x'.repeat(100)}"}`), 413, 'BAD_USER_INPUT', 0],
])('what is refused %s is not executed', async (_by, request, status, code, times) => {
  const { fetch, parsed, executed } = handlerOver();
  const response = await fetch(request);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
  expect([parsed.length, executed.length]).toEqual([times, 0]);
});

test('a client that takes events is streamed the same answer', async () => {
  const { fetch, executed } = handlerOver();
  const response = await fetch(post('{"query":"{ a }"}', { Accept: 'text/event-stream' }));
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(await response.text()).toContain('data: {"data":{"answer":1}}');
  expect(executed).toHaveLength(1);
});
