import type { Execution } from './execution.ts';

/** How many values are completed in one turn of the event loop, before what arrives waits for the next. */
const valuesPerTurn = 5000;

/** Spreads a long execution over turns of the event loop, so that other requests are served in between. */
export class Turns {
  readonly #execution: Execution;
  #end = valuesPerTurn;
  #deferred: (() => void)[] = [];

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  /** Whether this turn has done its share. */
  get isSpent(): boolean {
    return this.#execution.budget.values >= this.#end;
  }

  /** Runs work in a later turn, after what was deferred before it. */
  defer(work: () => void): void {
    this.#deferred.push(work);
    if (this.#deferred.length === 1) setImmediate(() => this.#run());
  }

  #run(): void {
    const deferred = this.#deferred;
    this.#deferred = [];
    this.#execution.stopIfAbandoned();
    if (this.#execution.isOver) return;
    this.#end = this.#execution.budget.values + valuesPerTurn;
    // Work that finds this turn spent as well defers itself again.
    for (const work of deferred) work();
  }
}
