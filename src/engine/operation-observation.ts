import type { ReadUsage } from '../schema/bank-session.ts';
import type { ExecutableOperation } from './document-cache.ts';

/** What is told of an operation: nothing of its text, its variables or its answer. */
export type ObservedOperation = Pick<ExecutableOperation, 'kind' | 'name' | 'documentHash' | 'isPersisted'>;

/** Where the engine notes what is done for a request, for whoever watches it. */
export interface OperationObservation extends ReadUsage {
  /** Null until it is known, which it never is where the document is refused. */
  operation: ObservedOperation | null;
}
