import { type ExecutionResult, type ExperimentalIncrementalExecutionResults, GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { noRoom } from '../../../src/engine/result.ts';
import {
  type IncrementalResultOptions,
  incrementalResult,
} from '../../../src/options/defer/incremental-result.ts';
import { documented } from '../../support/documented.ts';

type Subsequent =
  ExperimentalIncrementalExecutionResults['subsequentResults'] extends AsyncGenerator<infer Each>
    ? Each
    : never;

const pending = ['0', '1'].map((id) => ({ id, path: ['list', Number(id)] }));
const initialResult = { data: { list: [{}, {}] }, pending, hasNext: true } as const;
const second: Subsequent = {
  incremental: [{ id: '0', data: { a: 1 } }],
  completed: [{ id: '0' }],
  hasNext: true,
};
const third: Subsequent = {
  incremental: [{ id: '1', data: { a: 2 } }],
  completed: [{ id: '1' }],
  hasNext: false,
};

/** The result of an execution that makes these results; `state` tells whether it was ended, and its reads with it. */
function resultOf(
  subsequent: readonly (Subsequent | Error)[],
  options: Partial<IncrementalResultOptions> = {},
  initial: ExperimentalIncrementalExecutionResults['initialResult'] = initialResult,
) {
  const mask = (error: unknown) => (error instanceof GraphQLError ? error : new GraphQLError('masked'));
  const state = { returned: false, cancelled: false };
  async function* results() {
    try {
      for (const each of subsequent) {
        if (each instanceof Error) throw each;
        yield each;
      }
    } finally {
      state.returned = true;
    }
  }
  const result = incrementalResult(
    { initialResult: initial, subsequentResults: results() },
    {
      operation: { caller: '' },
      maxBytes: 10_000,
      mask,
      exceeded: () => null,
      extensions: () => undefined,
      cancel: () => {
        state.cancelled = true;
      },
      withoutData: (error): ExecutionResult => ({ data: null, errors: [mask(error)] }),
      ...options,
    },
  );
  return { result, state };
}

/** What a payment adds. */
const paid = {
  withoutData: (error: unknown): ExecutionResult => {
    const { message, extensions } = error as GraphQLError;
    return {
      data: null,
      errors: [
        new GraphQLError(message, { extensions: { ...extensions, idempotencyKey: 'k', retryAfter: 1 } }),
      ],
    };
  },
};

async function told(result: ReturnType<typeof incrementalResult>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { json } of result.payloads()) all.push(JSON.parse(String(json)));
  return all;
}

test('the payloads are the results, and the last one has the extensions', async () => {
  const extensions = { stale: [] };
  const { result, state } = resultOf([second, third], { extensions: () => extensions });
  expect(await told(result)).toEqual([initialResult, second, { ...third, extensions }]);
  expect(state.returned).toBe(true);
});

test('an execution that fails half-way ends what is pending with an error', async () => {
  const { result } = resultOf([second, new Error('secret')]);
  expect(await told(result)).toEqual([
    initialResult,
    second,
    { completed: [{ id: '1', errors: [{ message: 'masked', extensions: {} }] }], hasNext: false },
  ]);
});

test('so does one that just ends', async () => {
  const { result } = resultOf([second]);
  expect((await told(result)).at(-1)).toEqual({
    completed: [{ id: '1', errors: [{ message: 'masked', extensions: {} }] }],
    hasNext: false,
  });
});

test('in the form of 2022 the error stands at the root, and leaves the data alone', async () => {
  const { data } = initialResult;
  const { result } = resultOf([new Error('secret')], {}, { data, hasNext: true } as never);
  expect(await told(result)).toEqual([
    { data, hasNext: true },
    { incremental: [{ path: [], errors: [{ message: 'masked', extensions: {} }] }], hasNext: false },
  ]);
});

test('a limit that is exceeded half-way ends what is pending with its error, whatever the execution says', async () => {
  let limit: GraphQLError | null = null;
  const { result, state } = resultOf([second, third], { exceeded: () => limit });
  const payloads = result.payloads();
  await payloads.next();
  limit = new GraphQLError('too much', { extensions: { code: 'LIMIT_EXCEEDED', http: { status: 200 } } });
  const { value } = await payloads.next();
  expect(JSON.parse(String(value?.json))).toEqual({
    completed: ['0', '1'].map((id) => ({
      id,
      errors: [{ message: 'too much', extensions: documented({ code: 'LIMIT_EXCEEDED' }) }],
    })),
    hasNext: false,
  });
  expect(value?.errors).toEqual([limit]);
  expect(await payloads.next()).toEqual({ done: true, value: undefined });
  expect(state.returned).toBe(true);
});

test('the bytes of all payloads are bounded together', async () => {
  const maxBytes = [initialResult, second].reduce((sum, each) => sum + JSON.stringify(each).length, 0);
  expect(await told(resultOf([second, third], { maxBytes }).result)).toEqual([
    initialResult,
    second,
    {
      completed: [
        { id: '1', errors: [expect.objectContaining({ message: expect.stringMatching(/longer than/) })] },
      ],
      hasNext: false,
    },
  ]);
});

test('where the first one is too long, nothing but the error is told, and what a payment did', async () => {
  expect(await told(resultOf([second], { ...paid, maxBytes: 20 }).result)).toEqual([
    {
      data: null,
      errors: [
        expect.objectContaining({
          message: expect.stringMatching(/longer than 20 bytes/),
          extensions: documented({ code: 'LIMIT_EXCEEDED', idempotencyKey: 'k', retryable: false }),
        }),
      ],
      hasNext: false,
    },
  ]);
});

const overloaded = {
  errors: [expect.objectContaining({ extensions: expect.objectContaining({ code: 'OVERLOADED' }) })],
};

/** The last payload, where there is no room for this one, the first of which is 0. */
async function toldWithoutRoom(
  result: ReturnType<typeof incrementalResult>,
  refused: number,
): Promise<unknown> {
  const payloads = result.payloads();
  for (let n = 0; n <= refused; n++) await payloads.next();
  const { value } = await payloads.throw(noRoom());
  expect(await payloads.next()).toEqual({ done: true, value: undefined });
  return JSON.parse(String(value?.json));
}

test('an error that is thrown into it stands in the place of the payload before: that was not sent', async () => {
  const { result, state } = resultOf([second, third]);
  expect(await toldWithoutRoom(result, 1)).toEqual({
    completed: [
      { id: '0', ...overloaded },
      { id: '1', ...overloaded },
    ],
    hasNext: false,
  });
  expect(state).toEqual({ returned: true, cancelled: true });
});

test('so it does where that would have been the last one', async () => {
  const { result } = resultOf([second, third]);
  expect(await toldWithoutRoom(result, 2)).toEqual({
    completed: [{ id: '1', ...overloaded }],
    hasNext: false,
  });
});

test('what only that one would have announced is not told of', async () => {
  const nested = [{ id: '2', path: ['list', 0, 'nested'] }];
  const { result } = resultOf([{ ...second, pending: nested }]);
  expect(await toldWithoutRoom(result, 1)).toMatchObject({ completed: [{ id: '0' }, { id: '1' }] });
});

test('where that was the first one, the error is all that is told, and what a payment did', async () => {
  const { result } = resultOf([second, third], paid);
  expect(await toldWithoutRoom(result, 0)).toEqual({
    data: null,
    errors: [
      expect.objectContaining({
        extensions: documented({ code: 'OVERLOADED', idempotencyKey: 'k', retryable: false }),
      }),
    ],
    hasNext: false,
  });
});

test('who has paid is not asked to try again, whatever ends the results', async () => {
  const { result } = resultOf([second, third], paid);
  expect(await toldWithoutRoom(result, 1)).toMatchObject({
    completed: ['0', '1'].map((id) => ({
      id,
      errors: [{ extensions: { code: 'OVERLOADED', idempotencyKey: 'k', retryable: false } }],
    })),
  });
});

test('who takes not even the last one gets none', async () => {
  const { result, state } = resultOf([second, third]);
  const payloads = result.payloads();
  await payloads.next();
  await payloads.next();
  await payloads.throw(noRoom());
  expect(await payloads.throw(noRoom())).toEqual({ done: true, value: undefined });
  expect(state).toEqual({ returned: true, cancelled: true });
});

test('of the errors of all payloads a hundred are shown', async () => {
  const errors = Array.from({ length: 70 }, (_, n) => new GraphQLError(`error ${n}`));
  const failing: Subsequent = {
    incremental: [{ id: '0', data: {}, errors }],
    completed: [{ id: '0' }, { id: '1', errors: errors.slice(0, 5) }],
    hasNext: false,
  };
  const [first, last] = (await told(resultOf([failing], {}, { ...initialResult, errors }).result)) as {
    errors: object[];
    incremental: { errors: { message: string }[] }[];
    completed: { errors?: { message: string }[] }[];
  }[];
  expect(first?.errors).toHaveLength(70);
  expect(last?.incremental[0]?.errors).toHaveLength(31);
  expect(last?.incremental[0]?.errors.at(-1)?.message).toMatch(/^40 more fields failed/);
  expect(last?.completed[1]?.errors?.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^5 more fields failed/),
  ]);
});

test.each([
  ['fields', { incremental: [{ id: '0', data: { a: 1 } }], hasNext: false }, true],
  ['entries', { incremental: [{ id: '0', items: [null] }], hasNext: false }, true],
  ['null alone', { incremental: [{ id: '0', data: { a: null } }], hasNext: false }, false],
  ['an end', { completed: [{ id: '0', errors: [new GraphQLError('no')] }], hasNext: false }, false],
] as const)('says whether a payload tells anything but errors: %s', async (_, subsequent, hasData) => {
  const { result } = resultOf([subsequent], {}, { data: { list: null }, pending, hasNext: true });
  const told: boolean[] = [];
  for await (const payload of result.payloads()) told.push(payload.hasData);
  expect(told).toEqual([false, hasData]);
});
