import { expect, test } from 'vitest';
import { failCurrentRequest, runInRequestScope } from '../../src/http/request-scope.ts';
import { turns } from '../support/waits.ts';

/** An error that nobody caught fails the request that caused it, and not the process. */

/** A request that is answered when `work` ends, and the handling of errors that nobody caught. */
function startRequest(work: Promise<void>) {
  const told: string[] = [];
  const failures = {
    log: (error: unknown) => void told.push(`logged ${error}`),
    fail: (error: unknown) => void told.push(`failed ${error}`),
  };
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let next = Promise.withResolvers<{ error: unknown; taken: (is: boolean) => void }>();
  // Background work that the request started, such as a connection.
  const background = async () => {
    begin();
    for (;;) {
      const { error, taken } = await next.promise;
      next = Promise.withResolvers();
      taken(failCurrentRequest(error));
    }
  };
  runInRequestScope({ requestId: 'id', ...failures }, () => {
    void background();
    return work;
  });
  const reject = async (error: string) => {
    await begun;
    return new Promise<boolean>((taken) => next.resolve({ error, taken }));
  };
  return { told, reject };
}

test('an uncaught error is logged while its request is in progress', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { told, reject } = startRequest(promise);
  expect(await reject('one')).toBe(true);
  expect(told).toEqual(['logged one']);
  resolve();
  await turns();
  // The request is over, and an error of its background work must not end the process.
  expect(await reject('two')).toBe(true);
  expect(told).toEqual(['logged one', 'failed two']);
});

test('an uncaught error after the end of its request fails the request', async () => {
  const { told, reject } = startRequest(Promise.resolve());
  await turns();
  expect(await reject('one')).toBe(true);
  expect(told).toEqual(['failed one']);
});

test('a request whose work rejects fails, and an error outside of a request belongs to none', async () => {
  const { told } = startRequest(Promise.reject('work'));
  await turns();
  expect(told).toEqual(['failed work']);
  expect(failCurrentRequest('elsewhere')).toBe(false);
});
