import { expect, test } from 'vitest';
import type { Cancel } from '../../src/bank/cancel.ts';
import { createFlights } from '../../src/bank/flights.ts';
import { Patience } from '../../src/bank/patience.ts';

/** A call whose end the test decides. */
function controlled() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const cancels: Cancel[] = [];
  const start = (cancel: Cancel) => {
    cancels.push(cancel);
    return promise;
  };
  return { start, resolve, reject, cancels };
}

const patient = new Patience();
const within = (timeoutMs: number, signal?: AbortSignal) =>
  new Patience({ deadline: performance.now() + timeoutMs, signal });

test('who asks the same in the same group joins the call that is under way', async () => {
  const flights = createFlights<string>();
  const call = controlled();
  const kept: string[] = [];
  const ask = (group = 'g', key = 'k') =>
    flights.take({ group, key, patience: patient, start: call.start, keep: (answer) => kept.push(answer) });
  const asked = [ask(), ask(), ask('g', 'other'), ask('other')];
  call.resolve('answer');
  expect(await Promise.all(asked)).toEqual([
    { answer: 'answer', joined: false },
    { answer: 'answer', joined: true },
    { answer: 'answer', joined: false },
    { answer: 'answer', joined: false },
  ]);
  expect(call.cancels).toHaveLength(3);
  expect(kept).toHaveLength(3);
  await ask();
  expect(call.cancels).toHaveLength(4);
});

test('one who leaves fails nobody; when the last has left, the call is given up', async () => {
  const flights = createFlights<string>();
  const call = controlled();
  const [first, second] = [new AbortController(), new AbortController()];
  const ask = (signal: AbortSignal) =>
    flights.take({
      group: 'g',
      key: 'k',
      patience: within(1000, signal),
      start: call.start,
      keep: () => {},
    });
  const one = ask(first.signal);
  const two = ask(second.signal);
  first.abort();
  await expect(one).rejects.toMatchObject({ reason: 'cancelled' });
  expect(call.cancels[0]?.isRaised).toBe(false);
  second.abort();
  await expect(two).rejects.toMatchObject({ reason: 'cancelled' });
  expect(call.cancels[0]?.isRaised).toBe(true);
});

test('one who has no time left is told so, and the others wait on', async () => {
  const flights = createFlights<string>();
  const call = controlled();
  const ask = (timeoutMs: number) =>
    flights.take({ group: 'g', key: 'k', patience: within(timeoutMs), start: call.start, keep: () => {} });
  const hasty = ask(10);
  const waiting = ask(1000);
  await expect(hasty).rejects.toMatchObject({ reason: 'timeout' });
  call.resolve('answer');
  expect(await waiting).toEqual({ answer: 'answer', joined: true });
});

test('a failure is told to who started the call; who joined asks alone', async () => {
  const flights = createFlights<string>();
  const call = controlled();
  const ask = () =>
    flights.take({ group: 'g', key: 'k', patience: patient, start: call.start, keep: () => {} });
  const started = ask();
  const joined = ask();
  call.reject(new Error('refused'));
  await expect(started).rejects.toThrow('refused');
  expect(await joined).toBe('joined a failure');
});

test('once its group is closed, a call is neither joined nor kept, and is answered all the same', async () => {
  const flights = createFlights<string>();
  const [before, after] = [controlled(), controlled()];
  const kept: string[] = [];
  const ask = (call: ReturnType<typeof controlled>, group = 'g') =>
    flights.take({
      group,
      key: 'k',
      patience: patient,
      start: call.start,
      keep: (answer) => kept.push(answer),
    });
  const early = ask(before);
  flights.close('g');
  const late = ask(after);
  before.resolve('old');
  after.resolve('new');
  expect([await early, await late]).toEqual([
    { answer: 'old', joined: false },
    { answer: 'new', joined: false },
  ]);
  expect(kept).toEqual(['new']);
});
