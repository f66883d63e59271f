import { expect, test } from 'vitest';
import { createInFlightRequests, Subscriber } from '../../../src/bank/cache/in-flight-requests.ts';
import type { CancellationToken } from '../../../src/bank/http/cancellation.ts';
import { OperationDeadline } from '../../../src/bank/resilience/operation-deadline.ts';

/** A call whose end the test decides. */
function controlled() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const cancels: CancellationToken[] = [];
  const start = (cancel: CancellationToken) => {
    cancels.push(cancel);
    return promise;
  };
  return { start, resolve, reject, cancels };
}

type Call = ReturnType<typeof controlled>;
type Landed = { readonly answer: string; readonly joined: boolean } | 'joined a failure';

class Asking extends Subscriber<string> {
  readonly call: Call;
  readonly #promise = Promise.withResolvers<Landed>();

  constructor(call: Call, group: string, key: string, patience: OperationDeadline) {
    super(group, key, patience);
    this.call = call;
  }

  get landed(): Promise<Landed> {
    return this.#promise.promise;
  }
  onResult(answer: string): void {
    this.#promise.resolve({ answer, joined: this.isShared });
  }
  onFailure(error: unknown): void {
    this.#promise.reject(error);
  }
  onSharedFailure(): void {
    this.#promise.resolve('joined a failure');
  }
}

/** Flights, and what was kept of them. */
function board() {
  const kept: string[] = [];
  const flights = createInFlightRequests<string, Asking>({
    start: ({ call }, cancel) => call.start(cancel),
    store: (_, answer) => void kept.push(answer),
  });
  const take = (call: Call, patience = patient, group = 'g', key = 'k') => {
    const asking = new Asking(call, group, key, patience);
    flights.subscribe(asking);
    return asking.landed;
  };
  return { flights, kept, take };
}

const patient = new OperationDeadline();
const within = (timeoutMs: number, signal?: AbortSignal) =>
  new OperationDeadline({ deadline: performance.now() + timeoutMs, signal });

test('who asks the same in the same group joins the call that is under way', async () => {
  const { kept, take } = board();
  const call = controlled();
  const ask = (group = 'g', key = 'k') => take(call, patient, group, key);
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
  const { take } = board();
  const call = controlled();
  const [first, second] = [new AbortController(), new AbortController()];
  const ask = (signal: AbortSignal) => take(call, within(1000, signal));
  const one = ask(first.signal);
  const two = ask(second.signal);
  first.abort();
  await expect(one).rejects.toMatchObject({ reason: 'cancelled' });
  expect(call.cancels[0]?.isCancelled).toBe(false);
  second.abort();
  await expect(two).rejects.toMatchObject({ reason: 'cancelled' });
  expect(call.cancels[0]?.isCancelled).toBe(true);
});

test('one who has no time left is told so, and the others wait on', async () => {
  const { take } = board();
  const call = controlled();
  const ask = (timeoutMs: number) => take(call, within(timeoutMs));
  const hasty = ask(10);
  const waiting = ask(1000);
  await expect(hasty).rejects.toMatchObject({ reason: 'timeout' });
  call.resolve('answer');
  expect(await waiting).toEqual({ answer: 'answer', joined: true });
});

test('a failure is told to who started the call; who joined asks alone', async () => {
  const { take } = board();
  const call = controlled();
  const ask = () => take(call);
  const started = ask();
  const joined = ask();
  call.reject(new Error('refused'));
  await expect(started).rejects.toThrow('refused');
  expect(await joined).toBe('joined a failure');
});

test('once its group is closed, a call is neither joined nor kept, and is answered all the same', async () => {
  const { flights, kept, take } = board();
  const [before, after] = [controlled(), controlled()];
  const ask = (call: Call) => take(call);
  const early = ask(before);
  flights.invalidate('g');
  const late = ask(after);
  before.resolve('old');
  after.resolve('new');
  expect([await early, await late]).toEqual([
    { answer: 'old', joined: false },
    { answer: 'new', joined: false },
  ]);
  expect(kept).toEqual(['new']);
});
