import type { PaymentOutcome } from '../../src/payments/payment-record.ts';
import { advance, type HeldPayment, maySend, type ProtocolEvent } from '../../src/payments/protocol.ts';
import { done, pending, rejected, unknown } from '../payments/store/store-conformance.ts';
import { keyState } from '../support/key-state.ts';

/**
 * Explores every interleaving of two processes, a store and a bank, with the protocol's pure function. A step is one atomic
 * event: a database executes a statement, a bank executes a request, a message arrives or is lost, a process crashes, or time
 * passes by one tick. There is one idempotency key. The clients know the answers of both processes, and every answer is
 * compared with everything that happens afterwards.
 */

/** The length of a lease, and the time in which a request may be sent, in ticks. */
const leaseTicks = 3;
const sendTicks = 1;

/** The rules of the protocol, which the test breaks on purpose; see `faults`. */
interface Rules {
  readonly advance: typeof advance;
  readonly maySend: typeof maySend;
  /** Whether a change compares the version with the one that was read. */
  readonly comparesVersions: boolean;
  /** Whether a record whose INSERT is uncertain is deleted only when the INSERT can no longer be stored. */
  readonly settlesWrites: boolean;
  /** Whether the request waits until the store has confirmed the INSERT. */
  readonly waitsForBegin: boolean;
}

const sound: Rules = {
  ...{ advance, maySend },
  ...{ comparesVersions: true, settlesWrites: true, waitsForBegin: true },
};

/** Faults that each break one rule. The search must find a false answer, or a payment that is executed twice. */
export const faults: Readonly<Record<string, Partial<Rules>>> = {
  'late proof that nothing was sent frees a key that was told as unknown': {
    advance: (held, event) =>
      event.kind === 'taken back' && held?.awaited && held.record.trackId === event.trackId
        ? null
        : advance(held, event),
  },
  'the end of a lease frees the key': {
    advance: (held, event) => {
      const next = advance(held, event);
      return event.kind === 'asked about' && next ? null : next;
    },
  },
  'the lease is not looked at before sending': {
    maySend: () => true,
  },
  'anybody ends an attempt': {
    advance: (held, event) =>
      held !== null && event.kind === 'taken back'
        ? advance({ ...held, awaited: true }, { ...event, trackId: held.record.trackId })
        : advance(held, event),
  },
  'a change does not compare the version that it has read': { comparesVersions: false },
  'a beginning is taken back while it may still be stored': { settlesWrites: false },
  'a request does not wait for its beginning': { waitsForBegin: false },
};

interface Seen {
  readonly held: HeldPayment | null;
  readonly version: number;
}

/** The current work of a process. `attempt` is the Track-ID of its payment. */
type Doing =
  | { readonly step: 'idle' | 'dead' }
  | { readonly step: 'begins' | 'waits for the store'; readonly leaseUntil: number }
  | { readonly step: 'may send'; readonly seen: Seen }
  | { readonly step: 'waits for the bank'; readonly seen: Seen }
  /** The process applies an event to the record; `seen` is the record that it has read. */
  | {
      readonly step: 'asks' | 'finishes' | 'takes back';
      readonly seen: Seen | null;
      readonly outcome?: PaymentOutcome;
      readonly leaseUntil?: number;
    };

interface Process {
  readonly name: string;
  readonly attempt: string;
  /** How many more times its client requests the payment. */
  readonly asks: number;
  readonly doing: Doing;
}

interface World {
  readonly now: number;
  readonly store: Seen;
  readonly processes: readonly Process[];
  /** Insertions on their way to the store. */
  readonly inserts: readonly { readonly attempt: string; readonly leaseUntil: number }[];
  /** Insertions that the store has answered, each with the record that already had the key. */
  readonly answers: readonly { readonly attempt: string; readonly found: Seen | 'stored' }[];
  /** Requests on their way to the bank, and its answers. */
  readonly requests: readonly { readonly attempt: string; readonly until: number }[];
  readonly said: readonly { readonly attempt: string; readonly isDone: boolean }[];
  readonly executed: readonly string[];
  /** The answers that clients have got. Each has to stay true. */
  readonly told: readonly string[];
  /** Attempts of which a client has been told that nothing was sent. */
  readonly unsent: readonly string[];
  /** Attempts that were sent. */
  readonly sent: readonly string[];
  /** Attempts whose record was deleted because its INSERT was uncertain. */
  readonly gone: readonly string[];
}

interface Explored {
  readonly worlds: number;
  /** The states of the store that occurred. */
  readonly states: ReadonlySet<string>;
  /** The answers that clients got. */
  readonly messages: ReadonlySet<string>;
  /** The first violation, with the steps that lead to it; null if there is none. */
  readonly violation: string | null;
  readonly path: readonly string[];
}

interface Limits {
  /** How many times the clients of the two processes request the payment. */
  readonly asks: readonly [number, number];
  readonly ticks: number;
}

/** Explores all reachable worlds, breadth first, so that a violation is reported with a shortest path. */
export function explore({ asks, ticks }: Limits, broken: Partial<Rules> = {}): Explored {
  const rules = { ...sound, ...broken };
  const start: World = {
    now: 0,
    store: { held: null, version: 0 },
    processes: asks.map((count, n) => ({
      name: `process ${n}`,
      attempt: `${n}.1`,
      asks: count,
      doing: { step: 'idle' },
    })),
    ...{ inserts: [], answers: [], requests: [], said: [], executed: [] },
    ...{ told: [], unsent: [], sent: [], gone: [] },
  };
  const seen = new Set([keyOf(start)]);
  const queue: { world: World; path: Path }[] = [{ world: start, path: null }];
  const states = new Set<string>();
  const messages = new Set<string>();
  for (const { world, path } of queue) {
    states.add(keyState(world.store.held));
    for (const message of world.told) messages.add(message);
    for (const [what, next] of steps(world, rules, ticks)) {
      const violation = whatIsWrong(next);
      const nextPath = { what, before: path };
      if (violation !== null)
        return { worlds: seen.size, states, messages, violation, path: wordsOf(nextPath) };
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push({ world: next, path: nextPath });
    }
  }
  return { worlds: seen.size, states, messages, violation: null, path: [] };
}

type Path = { readonly what: string; readonly before: Path } | null;

const wordsOf = (path: Path): string[] => (path === null ? [] : [...wordsOf(path.before), path.what]);

/** The violation in a world: a second execution, or an answer that is false or has become false; null if there is none. */
function whatIsWrong({ executed, told, unsent, sent, gone, store, inserts }: World): string | null {
  if (executed.length > 1) return `executed twice: ${executed.join(', ')}`;
  const lie = unsent.find((attempt) => sent.includes(attempt));
  if (lie !== undefined) return `"nothing was sent" is not true of attempt ${lie}`;
  if (told.includes('done') && executed.length === 0) return '"done" is not true';
  if (told.includes('rejected') && executed.length > 0) return '"rejected" is not true';
  if (told.includes('unknown, then sent')) return '"it is not sent again" is not true';
  const stuck = gone.find(
    (attempt) =>
      store.held?.record.trackId === attempt &&
      store.held.record.state === 'PENDING' &&
      !inserts.some((insert) => insert.attempt === attempt),
  );
  return stuck === undefined ? null : `attempt ${stuck} was taken back, and is stored`;
}

/** All possible next steps. */
function* steps(world: World, rules: Rules, ticks: number): Generator<readonly [string, World]> {
  const { now, store, inserts, requests, processes } = world;
  if (now < ticks)
    yield [
      `it is ${now + 1}`,
      // A request that takes longer is given up, and does not arrive any more.
      { ...world, now: now + 1, requests: requests.filter(({ until }) => until > now) },
    ];

  for (const insert of inserts) {
    const { attempt, leaseUntil } = insert;
    const rest = { ...world, inserts: inserts.filter((other) => other !== insert) };
    const record = pending({ trackId: attempt, leaseUntil });
    const next = rules.advance(store.held, { kind: 'begin', record });
    const found = next === undefined ? store : ('stored' as const);
    yield [
      `the store executes the beginning of ${attempt}`,
      {
        ...rest,
        store: next == null ? store : changed(store, next),
        answers: [...world.answers, { attempt, found }],
      },
    ];
  }

  for (const request of requests) {
    const { attempt } = request;
    const rest = { ...world, requests: requests.filter((other) => other !== request) };
    const told = world.told.includes('unknown') ? [...world.told, 'unknown, then sent'] : world.told;
    yield [
      `the bank executes ${attempt}`,
      {
        ...rest,
        told,
        executed: [...world.executed, attempt],
        said: [...world.said, { attempt, isDone: true }],
      },
    ];
    yield [`the bank refuses ${attempt}`, { ...rest, said: [...world.said, { attempt, isDone: false }] }];
    yield [`the request of ${attempt} is lost`, rest];
  }

  for (const process of processes) {
    if (process.doing.step === 'dead') continue;
    const put = (change: Partial<Process>, more: Partial<World> = {}): World => ({
      ...world,
      ...more,
      processes: processes.map((other) => (other === process ? { ...process, ...change } : other)),
    });
    if (process.doing.step !== 'idle') yield [`${process.name} dies`, put({ doing: { step: 'dead' } })];
    for (const [what, next] of stepsOf(process, put, world, rules)) yield [`${process.name} ${what}`, next];
  }
}

type Put = (change: Partial<Process>, more?: Partial<World>) => World;

function* stepsOf(
  process: Process,
  put: Put,
  world: World,
  rules: Rules,
): Generator<readonly [string, World]> {
  const { attempt, doing, asks } = process;
  const { now, store, told } = world;
  const ended: Partial<Process> = {
    asks: asks - 1,
    doing: { step: 'idle' },
    attempt: `${attempt.split('.')[0]}.${Number(attempt.split('.')[1]) + 1}`,
  };
  /** The client gets its answer. */
  const tell = (message: string, more: Partial<World> = {}): World =>
    put(ended, { told: [...new Set([...told, message])].sort(), ...more });

  switch (doing.step) {
    case 'idle':
      if (asks > 0)
        yield ['is asked to pay', put({ doing: { step: 'begins', leaseUntil: now + leaseTicks } })];
      return;
    case 'begins': {
      const { leaseUntil } = doing;
      const inserts = [...world.inserts, { attempt, leaseUntil }];
      const begun: Seen = {
        held: { record: pending({ trackId: attempt, leaseUntil }), awaited: true },
        version: Number.NaN,
      };
      yield [
        'begins',
        rules.waitsForBegin
          ? put({ doing: { step: 'waits for the store', leaseUntil } }, { inserts })
          : put({ doing: { step: 'may send', seen: begun } }, { inserts }),
      ];
      return;
    }
    case 'waits for the store': {
      const answer = world.answers.find((each) => each.attempt === attempt);
      const answers = world.answers.filter((each) => each !== answer);
      if (answer?.found === 'stored') {
        const held = { record: pending({ trackId: attempt, leaseUntil: doing.leaseUntil }), awaited: true };
        // The process compares with the version that it wrote: if another process has changed the record, the
        // comparison fails.
        const version =
          store.held?.record.trackId === attempt && store.held.awaited ? versionOf(store, held) : -1;
        yield ['has begun', put({ doing: { step: 'may send', seen: { held, version } } }, { answers })];
      } else if (answer !== undefined)
        yield [
          'finds a record',
          put({ doing: { step: 'asks', seen: answer.found, leaseUntil: doing.leaseUntil } }, { answers }),
        ];
      yield [
        'hears nothing from the store, and says that nothing was sent',
        put({ doing: { step: 'takes back', seen: null } }, { unsent: [...world.unsent, attempt], answers }),
      ];
      return;
    }
    case 'may send': {
      const { held } = doing.seen;
      if (held === null || !rules.maySend(held.record, now + sendTicks)) {
        yield [
          'does not send',
          put({ doing: { step: 'takes back', seen: doing.seen } }, { unsent: [...world.unsent, attempt] }),
        ];
        return;
      }
      yield [
        'does not reach the bank',
        put({ doing: { step: 'takes back', seen: doing.seen } }, { unsent: [...world.unsent, attempt] }),
      ];
      yield [
        'sends',
        put(
          { doing: { step: 'waits for the bank', seen: doing.seen } },
          {
            requests: [...world.requests, { attempt, until: now + sendTicks }],
            sent: [...world.sent, attempt],
            told: told.includes('unknown') ? [...told, 'unknown, then sent'] : told,
          },
        ),
      ];
      return;
    }
    case 'waits for the bank': {
      const said = world.said.find((each) => each.attempt === attempt);
      const finish = (outcome: PaymentOutcome): Doing => ({ step: 'finishes', seen: doing.seen, outcome });
      if (said !== undefined)
        yield [
          said.isDone ? 'hears that it was done' : 'hears that it was refused',
          put({ doing: finish(said.isDone ? done : rejected) }),
        ];
      if (!world.requests.some((each) => each.attempt === attempt))
        yield ['hears nothing from the bank', put({ doing: finish(unknown) })];
      return;
    }
    case 'asks':
    case 'finishes':
    case 'takes back': {
      if (doing.seen === null) {
        // With `settlesWrites`, this read comes only after the attempt's INSERT can no longer be stored.
        const inserts = rules.settlesWrites
          ? world.inserts.filter((insert) => insert.attempt !== attempt)
          : world.inserts;
        yield ['reads the record', put({ doing: { ...doing, seen: store } }, { inserts })];
        return;
      }
      const event: ProtocolEvent =
        doing.step === 'asks'
          ? { kind: 'asked about', at: now }
          : doing.step === 'finishes'
            ? { kind: 'ended', trackId: attempt, outcome: doing.outcome ?? unknown, at: now }
            : { kind: 'taken back', trackId: attempt, at: now };
      const next = rules.advance(doing.seen.held, event);
      if (next === undefined) {
        yield ['goes on', afterwards(doing.seen.held)];
        return;
      }
      if (rules.comparesVersions && doing.seen.version !== store.version) {
        yield ['is too late, and reads again', put({ doing: { ...doing, seen: null } })];
        return;
      }
      const written = changed(store, next);
      yield [`writes ${keyState(next)}`, { ...afterwards(next), store: written }];
      yield [
        `writes ${keyState(next)}, and does not hear of it`,
        put({ doing: { ...doing, seen: null } }, { store: written }),
      ];
      return;
    }
  }

  function afterwards(held: HeldPayment | null): World {
    if (doing.step === 'takes back') return put(ended, { gone: [...world.gone, attempt] });
    if (doing.step === 'finishes') {
      return tell(toldOf[(doing.outcome ?? unknown).state]);
    }
    const leaseUntil = doing.step === 'asks' ? (doing.leaseUntil ?? now) : now;
    if (held === null) return put({ doing: { step: 'begins', leaseUntil } });
    return tell(toldOf[held.record.state]);
  }
}

/** The answer to a client about a record in each state. */
const toldOf = { PENDING: 'begun', DONE: 'done', REJECTED: 'rejected', UNKNOWN: 'unknown' };

/**
 * The version of the record that a process began: the version in the store if the state is still that of the process; otherwise
 * a version that does not exist.
 */
const versionOf = (store: Seen, { record }: HeldPayment): number =>
  store.held?.record.state === record.state ? store.version : -1;

/** The content of the store after a change, without the history, which only grows. */
const changed = ({ version }: Seen, held: HeldPayment | null): Seen => ({
  held: held && { ...held, record: { ...held.record, history: [], updatedAt: 0 } },
  version: version + 1,
});

/**
 * The key of a world. Worlds are the same if they differ only in irrelevant facts, such as the number of changes of a record, and
 * messages that only dead processes would receive.
 */
function keyOf({
  now,
  store,
  processes,
  inserts,
  answers,
  requests,
  said,
  executed,
  ...known
}: World): string {
  const heldKey = (held: HeldPayment | null) =>
    held === null ? '' : `${held.record.trackId}${held.record.state}${held.record.leaseUntil}${held.awaited}`;
  const seenKey = (seen: Seen | null | 'stored') =>
    seen === null || seen === 'stored' ? seen : `${heldKey(seen.held)}${seen.version === store.version}`;
  const listens = ({ attempt }: { readonly attempt: string }) =>
    processes.some((process) => process.attempt === attempt && process.doing.step !== 'dead');
  const doingKey = ({ doing, attempt, asks }: Process) => {
    if (doing.step === 'dead') return 'dead';
    const seen = 'seen' in doing ? seenKey(doing.seen) : '';
    const leaseUntil = 'leaseUntil' in doing ? doing.leaseUntil : '';
    const outcome = 'outcome' in doing ? doing.outcome?.state : '';
    return `${attempt}${asks}${doing.step}${seen}${leaseUntil}${outcome}`;
  };
  return [
    now,
    heldKey(store.held),
    ...processes.map(doingKey),
    ...inserts.map(({ attempt, leaseUntil }) => `${attempt}${leaseUntil}`),
    '/',
    ...answers.filter(listens).map(({ attempt, found }) => `${attempt}${seenKey(found)}`),
    '/',
    ...requests.map(({ attempt, until }) => `${attempt}${until}`),
    '/',
    ...said.filter(listens).map(({ attempt, isDone }) => `${attempt}${isDone}`),
    ...[executed, known.told, known.unsent, known.sent, known.gone].map((list) => list.join()),
  ].join('|');
}
