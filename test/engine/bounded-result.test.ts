import { GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { internalError } from '../../src/engine/errors.ts';
import { BoundedResult, finalIfItWrote } from '../../src/engine/result.ts';
import { createResultSerializer } from '../../src/server/response.ts';
import { documented } from '../support/documented.ts';

/** What is answered where a result cannot be sent as it is. */

const serialize = createResultSerializer({
  toErrorResult: (error) => ({ data: { unexpected: String(error) } }),
});
const seen: unknown[] = [];
const resultOf = (data: Record<string, unknown>, maxBytes = 100) =>
  new BoundedResult(
    { data },
    {
      maxBytes,
      withoutData: (error) => {
        seen.push(error);
        return { errors: [error instanceof GraphQLError ? error : internalError()], data: null };
      },
    },
  );

test('a result of which no JSON can be made is INTERNAL, and no exception', () => {
  const ring: Record<string, unknown> = {};
  ring.ring = ring;
  for (const broken of [ring, { n: 1n }]) {
    const { status, body } = serialize(resultOf(broken), 'application/json');
    expect(status).toBe(500);
    expect(JSON.parse(String(body))).toEqual({
      errors: [expect.objectContaining({ extensions: documented({ code: 'INTERNAL', retryable: false }) })],
      data: null,
    });
    expect(seen.at(-1)).toBeInstanceOf(TypeError);
  }
});

test('its JSON may have so many bytes in UTF-8, and none more', () => {
  // {"data":{"t":"…"}} is 17 bytes without its text.
  const body = (text: string) =>
    JSON.parse(String(serialize(resultOf({ t: text }), 'application/json').body));
  expect(body('a'.repeat(83)).data).toEqual({ t: 'a'.repeat(83) });
  expect(body('a'.repeat(84))).toMatchObject({ data: null, errors: [{}] });
  expect(body('α'.repeat(41)).data).toEqual({ t: 'α'.repeat(41) });
  expect(body('α'.repeat(42))).toMatchObject({ data: null, errors: [{}] });
});

test('data whose JSON was made before stands where it belongs', () => {
  const result = {
    errors: [new GraphQLError('first')],
    data: { text: 'α' },
    extensions: { stale: [] },
  };
  for (const each of [result, { data: result.data }, { data: result.data, extensions: result.extensions }]) {
    const options = { maxBytes: 1000, withoutData: () => ({}) };
    const dataJson = [Buffer.from(JSON.stringify(each.data))];
    const [made, plain] = [{ ...options, dataJson }, options].map((with_) =>
      serialize(new BoundedResult(each, with_), 'application/json'),
    );
    expect(String(made?.body)).toBe(String(plain?.body));
  }
});

test('who has paid or written is not asked to try again, whatever ends the answer', () => {
  const refusal = (extensions: object) => ({
    errors: [
      new GraphQLError('m', {
        extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1, ...extensions },
      }),
    ],
  });
  const paid = { idempotencyKey: 'k', state: 'DONE' };
  for (const done of [paid, { writes: [] }])
    expect(finalIfItWrote(refusal(done)).errors?.[0]?.extensions).toEqual({
      ...done,
      code: 'OVERLOADED',
      retryable: false,
      http: { status: 503 },
    });
  const nothing = refusal({});
  expect(finalIfItWrote(nothing)).toBe(nothing);
});
