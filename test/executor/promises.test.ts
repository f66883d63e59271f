import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ignoreRejections, isPromise } from '../../src/executor/promises.ts';

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(() => void process.off('unhandledRejection', note));

const failing = async () => {
  await turn();
  throw new Error('late');
};

test('promises are ignored wherever they stand', async () => {
  for (const value of [
    failing(),
    [failing(), [failing()]],
    new Set([failing()]),
    new Map([[failing(), failing()]]),
    [failing()].values(),
    Promise.resolve([failing()]),
    turn().then(() => [failing()]),
  ])
    ignoreRejections(value);
  for (let more = 0; more < 5; more++) await turn();
  expect(unhandled).toEqual([]);
});

test('what makes its entries when they are asked for makes none', () => {
  let made = 0;
  const generator = (function* () {
    for (;;) yield made++;
  })();
  ignoreRejections(generator);
  ignoreRejections(generator.map((entry) => entry));
  expect(made).toBe(0);
});

test('what cannot be looked at is left alone', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const unreadable = Object.defineProperty({}, 'then', {
    get() {
      throw new Error('then');
    },
  });
  for (const value of [proxy, [proxy], unreadable, null, undefined, 1, 'text', {}]) ignoreRejections(value);
  expect([Promise.resolve(), null, () => {}, {}].map(isPromise)).toEqual([true, false, false, false]);
});
