import type { Operation } from '../contract/operation.ts';
import { detailsOf } from '../errors.ts';
import type { Call } from './call.ts';
import type { ReadLimits, ReadSource, SharedReads } from './shared-reads.ts';

/** Observes an operation's calls, for the explanation (graphql/explain-calls.ts). Its methods must not throw. */
export interface CallObserver {
  /** A field requests the record or list with this key; an earlier field may have requested it too. */
  requested(operation: Operation, key: string): void;
  /** A call begins. Shape: a function to be called with its outcome. */
  began(operation: Operation, key: string | null): (outcome: CallOutcome) => void;
}

/** The known facts about the outcome of a call. */
export interface CallOutcome {
  readonly source: ReadSource;
  readonly status: number | null;
  readonly bytes: number | null;
  readonly trackId: string | null;
  /** The error code of the call. */
  readonly code: string | null;
}

/** Makes a read, and reports its outcome to `ended`. */
export async function observedRead(
  reads: Pick<SharedReads, 'read'>,
  call: Call,
  limits: ReadLimits,
  ended: (outcome: CallOutcome) => void,
): Promise<unknown> {
  let source: ReadSource = 'bank';
  const { operationDeadline, readBudget, unshared } = limits;
  const observed: ReadLimits = {
    operationDeadline,
    readBudget,
    unshared,
    onSource(actual, ...more) {
      source = actual;
      limits.onSource?.(actual, ...more);
    },
  };
  try {
    const { answer, status, bytes, trackId } = await reads.read(call, observed, 'result');
    ended({ source, status, bytes, trackId, code: null });
    return answer;
  } catch (error) {
    ended({ ...failedOutcome(error), source });
    throw error;
  }
}

/** The outcome of a call that failed with this error. */
export function failedOutcome(error: unknown): CallOutcome {
  const { status, trackId, code } = detailsOf(error);
  return { source: 'bank', status: status ?? null, bytes: null, trackId: trackId ?? null, code };
}
