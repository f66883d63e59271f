import { AsyncLocalStorage } from 'node:async_hooks';
import { between, type Choices, hash } from './choices.ts';

/** A process of the simulated world. What it still has to do is dropped when it dies, and waits while it is stopped. */
export class SimulatedProcess {
  readonly name: string;
  /** What its wall clock is ahead, in milliseconds. */
  clockAheadMs = 0;
  isDead = false;
  /** Until when it is stopped, in milliseconds of the world. */
  stoppedUntil = 0;
  /** Called once, when it dies: what is connected to it notices. */
  readonly onDeath: (() => void)[] = [];
  /** Whether the seed may kill it. */
  readonly isMortal: boolean;

  constructor(name: string, { isMortal = false }: { readonly isMortal?: boolean } = {}) {
    this.name = name;
    this.isMortal = isMortal;
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const notice of this.onDeath) notice();
  }
}

/** Something that happens at a time: a timer, a message that arrives. */
export interface Happening {
  at: number;
  /** Of those at one time, this decides, and then which is older. */
  readonly kind: keyof typeof orders;
  readonly nth: number;
  readonly what: string;
  readonly process: SimulatedProcess | null;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Of what waited for a stopped process, its timers come first, as in Node's event loop. */
const orders = { immediate: 0, timer: 1, message: 2 } as const;

/** The process whose code runs. One for all worlds, since what is kept for each promise grows with their number. */
const current = new AsyncLocalStorage<SimulatedProcess>();

/** How long a process may be stopped: longer than a lease, and than all that waits for an answer. */
export const longestStopMs = 40_000;

/** Before the simulation installs its own. */
const nextTurn = setImmediate;

/** Time, and what happens in it: one thing after the other, each to its end, in an order that the seed decides. */
export class World {
  readonly choices: Choices;
  /** Milliseconds since the world began. */
  now = 0;
  /** What happened, in words, where it is wanted. */
  readonly lines: string[] = [];
  readonly #keepsLines: boolean;
  readonly #queue: Happening[] = [];
  #happenings = 0;
  #traceHash = 0;

  constructor(choices: Choices, { keepsLines = false }: { readonly keepsLines?: boolean } = {}) {
    this.choices = choices;
    this.#keepsLines = keepsLines;
  }

  /** The process whose code runs; undefined outside of all. */
  get process(): SimulatedProcess | undefined {
    return current.getStore();
  }

  /** Of all that happened so far: two runs with the same are the same. */
  get traceHash(): string {
    return this.#traceHash.toString(16).padStart(8, '0');
  }

  /** Runs code as the process'. */
  as<T>(process: SimulatedProcess, run: () => T): T {
    return current.run(process, run);
  }

  /** Writes down what happened. */
  note(line: string): void {
    const text = `${this.now.toFixed(2)} ms: ${line}`;
    this.#traceHash = hash(text, this.#traceHash);
    if (this.#keepsLines) this.lines.push(text);
  }

  /** Lets something happen to a process, or to nobody, after a delay. */
  after(
    delayMs: number,
    kind: keyof typeof orders,
    process: SimulatedProcess | null,
    what: string,
    run: () => void,
  ): Happening {
    const nth = ++this.#happenings;
    const happening = {
      at: this.now + delayMs,
      kind,
      nth,
      what,
      process,
      run,
      isCancelled: false,
    };
    this.#insert(happening);
    return happening;
  }

  /**
   * Whether a process still does what only others see: right before, it may die. Between two such effects nobody can tell
   * when it died, so that this is a crash at each await.
   */
  takesEffect(process: SimulatedProcess, what: string): boolean {
    if (process.isDead) return false;
    if (
      process.isMortal &&
      this.choices.departs('crashes', 0.01, `${process.name} dies before ${what}`) !== null
    ) {
      this.note(`${process.name} dies before ${what}`);
      process.die();
      return false;
    }
    return true;
  }

  /** Lets happen what happens within so many milliseconds, or until `isOver`. */
  async run(forMs: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.now + forMs;
    await settled();
    for (;;) {
      if (isOver()) return;
      const next = this.#queue[0];
      if (next === undefined || next.at > until) break;
      this.#queue.shift();
      if (this.#happen(next)) await settled();
    }
    this.now = until;
  }

  /** A process may be stopped, as by SIGSTOP, or because its machine sleeps. */
  mayStop(process: SimulatedProcess, when: string, chance: number): void {
    const stopped = this.choices.departs('stops', chance, `${process.name} is stopped ${when}`);
    if (stopped === null) return;
    // For a moment, or for longer than a lease.
    const forMs =
      stopped < 0.5 ? between(50, 5000, 2 * stopped) : between(5000, longestStopMs, 2 * stopped - 1);
    this.note(`${process.name} is stopped for ${Math.round(forMs)} ms`);
    // It is never shorter than it was: what waits for its end would be overtaken by what came later.
    process.stoppedUntil = Math.max(process.stoppedUntil, this.now + forMs);
  }

  #happen(happening: Happening): boolean {
    const { process, run, what, kind, isCancelled } = happening;
    if (isCancelled || process?.isDead) return false;
    if (process?.isMortal && kind === 'message') this.mayStop(process, `before ${what}`, 0.01);
    if (process !== null && process.stoppedUntil > happening.at) {
      happening.at = process.stoppedUntil;
      this.#insert(happening);
      return false;
    }
    this.now = Math.max(this.now, happening.at);
    this.#traceHash = hash(`${this.now} ${process?.name} ${what}`, this.#traceHash);
    if (process === null) run();
    else this.as(process, run);
    return true;
  }

  #insert(happening: Happening): void {
    let [low, high] = [0, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#queue[middle];
      if (other !== undefined && isBefore(other, happening)) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, happening);
  }
}

const isBefore = (one: Happening, other: Happening): boolean =>
  one.at !== other.at
    ? one.at < other.at
    : one.kind !== other.kind
      ? orders[one.kind] < orders[other.kind]
      : one.nth < other.nth;

/** Nothing of the simulated world waits for the machine, so that all promises are settled when the event loop goes on. */
const settled = (): Promise<void> => new Promise((resolve) => nextTurn(resolve));
