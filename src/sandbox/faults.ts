import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { type OperationId, operations } from '../contract/operations.ts';

const fault = z.strictObject({
  /** The status of the error that replaces the bank's answer. */
  status: z.int().min(300).max(599).optional(),
  /** The delay of the answer, in milliseconds. */
  latency: z.int().min(1).max(600_000).optional(),
  /** The remaining number of calls with the fault; unlimited if omitted. */
  times: z.int().min(1).optional(),
});

/** The body of `PUT /sandbox/faults`: the faults by operation; `*` means all other operations. */
export const faultsBody = z.partialRecord(z.literal([...operationIds(), '*']), fault);
export type Faults = z.infer<typeof faultsBody>;

function operationIds(): OperationId[] {
  return Object.values(operations).map(({ id }) => id);
}

export interface Answer {
  readonly status: number;
  readonly json: string;
}

/** Counts a call of an operation. Shape: the fault that applies to it, if any. */
function take(faults: Faults, operation: OperationId) {
  const name = faults[operation] ? operation : '*';
  const found = faults[name];
  if (found?.times === 1) delete faults[name];
  else if (found?.times !== undefined) faults[name] = { ...found, times: found.times - 1 };
  return found;
}

/**
 * Applies the faults to an answer. The bank has already executed the call: a payment is made even if its caller gets an error.
 */
export async function spoil(faults: Faults, operation: OperationId, answer: Answer): Promise<Answer> {
  const { status, latency } = take(faults, operation) ?? {};
  if (latency !== undefined) await wait(latency, undefined, { ref: false });
  if (status === undefined) return answer;
  return { status, json: JSON.stringify({ code: status, message: 'The bank has a bad day' }) };
}
