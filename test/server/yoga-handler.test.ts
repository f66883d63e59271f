import { expect, test } from 'vitest';
import type { Engine, EngineRequest, OperationParams } from '../../src/engine/engine.ts';
import { RequestError } from '../../src/engine/errors.ts';
import { createAnswerSender, createResultSerializer } from '../../src/server/response.ts';
import { createYogaHandler } from '../../src/server/yoga-handler.ts';
import { overSocket } from '../support/over-socket.ts';

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
  const handle = createYogaHandler({
    engine,
    identify: () => caller,
    serializeResult: createResultSerializer(engine),
    sendAnswer: createAnswerSender({ engine }),
    isReady: () => true,
  });
  const socket = overSocket((request, response) => handle(request, response, []));
  return { ...socket, parsed, executed, [Symbol.asyncDispose]: socket.close };
}

const get = (query: string, headers = {}) => new Request(`http://localhost/graphql${query}`, { headers });

test('a GET is parsed as it came, and what was parsed is executed', async () => {
  await using handler = handlerOver();
  const response = await handler.fetch(get('?query=%7B+a+%7D&variables=%7B%22n%22%3A1%7D'));
  expect(await response.json()).toEqual({ data: { answer: 1 } });
  expect(handler.parsed).toEqual([{ query: '{ a }', variables: { n: 1 } }]);
  const [{ params, request } = { params: null, request: null }] = handler.executed;
  expect(params).toEqual({
    query: '{ parsed }',
    operationName: null,
    variables: { parsed: true },
    extensions: { own: 1 },
  });
  expect(request).toMatchObject({ credentials: caller, isReadOnly: true });
  expect(request?.signal?.()).toBeInstanceOf(AbortSignal);
});

test.each([
  ['by the engine', '?documentId=unknown', 'PERSISTED_DOCUMENT_REQUIRED', 1],
  ['for its variables', '?query=%7B+a+%7D&variables=%7B', 'BAD_USER_INPUT', 0],
])('what is refused %s is not executed', async (_by, query, code, times) => {
  await using handler = handlerOver();
  const response = await handler.fetch(get(query));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
  expect([handler.parsed.length, handler.executed.length]).toEqual([times, 0]);
});

test('a client that takes events is streamed the same answer', async () => {
  await using handler = handlerOver();
  const response = await handler.fetch(get('?query=%7B+a+%7D', { Accept: 'text/event-stream' }));
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(await response.text()).toContain('data: {"data":{"answer":1}}');
  expect(handler.executed).toHaveLength(1);
});
