import { createHash } from 'node:crypto';
import type { OperationId } from '../contract/operations.ts';
import type { Fault } from './faults/fault.ts';

/** A fault, and how often it has been applied since it was set. */
export type FaultState = Fault & { readonly struck: number };

/** The active faults of the sandbox bank. */
export interface Faults {
  list(): FaultState[];
  /** Sets other faults; their counts begin at 0. */
  replace(faults: readonly Fault[]): void;
  /**
   * Selects the faults for one call of an operation, in the order of the list: every latency that hits, and the first
   * hit of the other kinds, since a call can end in only one way.
   */
  draw(operation: OperationId): readonly Fault[];
}

/** A number from 0 to 1 (excluded), the same for the same name in every sandbox. */
const chance = (name: string): number => createHash('sha256').update(name).digest().readUInt32BE() / 2 ** 32;

/** A fault with its state. */
function track(fault: Fault, position: number) {
  // Counted by operation, so that the nth call of one is treated the same, whatever concurrent calls of others there
  // are.
  const calls = new Map<OperationId, number>();
  let hits = 0;
  return {
    fault,
    state: (): FaultState => ({ ...fault, struck: hits }),
    strikes(operation: OperationId): boolean {
      if (fault.operation !== '*' && fault.operation !== operation) return false;
      if (hits === fault.count) return false;
      const call = (calls.get(operation) ?? 0) + 1;
      calls.set(operation, call);
      if (chance(`${position} ${fault.kind} ${operation} ${call}`) >= fault.rate) return false;
      hits += 1;
      return true;
    },
  };
}

export function createFaults(initial: readonly Fault[]): Faults {
  let followed = initial.map(track);
  return {
    list: () => followed.map(({ state }) => state()),
    replace(faults) {
      followed = faults.map(track);
    },
    draw(operation) {
      const drawn: Fault[] = [];
      let ends = false;
      for (const { fault, strikes } of followed) {
        const isEnd = fault.kind !== 'latency';
        if ((isEnd && ends) || !strikes(operation)) continue;
        ends ||= isEnd;
        drawn.push(fault);
      }
      return drawn;
    },
  };
}
