import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { failCurrentRequest, runInRequestScope } from '../../src/server/request-scope.ts';

/** A request that is answered when `work` ends, and what became of errors that nobody caught. */
function startRequest(work: Promise<void>) {
  const told: string[] = [];
  const request = { isClosed: false };
  const failures = {
    log: (error: unknown) => void told.push(`logged ${error}`),
    fail: (error: unknown) => void told.push(`failed ${error}`),
    isClosed: () => request.isClosed,
  };
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let next = Promise.withResolvers<{ error: unknown; taken: (is: boolean) => void }>();
  // Something that the request started and left behind, such as a connection.
  const background = async () => {
    begin();
    for (;;) {
      const { error, taken } = await next.promise;
      next = Promise.withResolvers();
      taken(failCurrentRequest(error));
    }
  };
  runInRequestScope('id', failures, () => {
    void background();
    return work;
  });
  const reject = async (error: string) => {
    await begun;
    return new Promise<boolean>((taken) => next.resolve({ error, taken }));
  };
  return { request, told, reject };
}

test('an error that nobody caught is logged while its request is worked for, also where its client has left', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { request, told, reject } = startRequest(promise);
  expect(await reject('one')).toBe(true);
  request.isClosed = true;
  expect(await reject('two')).toBe(true);
  expect(told).toEqual(['logged one', 'logged two']);
  resolve();
  await delay(0);
  // The request is over, and whoever left this behind must not end the process.
  expect(await reject('three')).toBe(true);
  expect(told).toEqual(['logged one', 'logged two', 'logged three']);
});

test('it fails a request that nobody works for and that has no end yet', async () => {
  const { request, told, reject } = startRequest(Promise.resolve());
  await delay(0);
  expect(await reject('one')).toBe(true);
  expect(told).toEqual(['failed one']);
  request.isClosed = true;
  expect(await reject('two')).toBe(true);
  expect(told).toEqual(['failed one', 'logged two']);
});

test('whoever rejects fails the request, and no error belongs to one where there is none', async () => {
  const { told } = startRequest(Promise.reject('work'));
  await delay(0);
  expect(told).toEqual(['failed work']);
  expect(failCurrentRequest('elsewhere')).toBe(false);
});
