import type { ObservedOperation } from '../engine/context.ts';

/** Whose names stand in metrics: of all operations, of those of persisted documents, of none. */
export const operationNameModes = ['all', 'persisted', 'none'] as const;
export type OperationNameMode = (typeof operationNameModes)[number];

/** How many names there are at most. Each is a time series of its own, kept as long as the process. */
const maxNames = 200;
/** A client may choose a name of any length. */
const maxLength = 100;

const other = 'other';

/** The name by which metrics know an operation: one of a bounded number. */
export function createOperationLabel(
  mode: OperationNameMode,
): (operation: Pick<ObservedOperation, 'name' | 'isPersisted'> | null) => string {
  const names = new Set<string>();
  return (operation) => {
    const name = operation?.name ?? null;
    if (operation === null || name === null || mode === 'none') return other;
    if (names.has(name)) return operation.isPersisted || mode === 'all' ? name : other;
    if (mode === 'persisted' && !operation.isPersisted) return other;
    if (names.size >= maxNames || name.length > maxLength) return other;
    names.add(name);
    return name;
  };
}
