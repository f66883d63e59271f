import type { BankClient } from '../../src/bank/client.ts';

/**
 * A bank whose answers nobody can change. They are shared (shared-reads.ts, parsed-responses.ts): whoever changed
 * one would change another caller's.
 */
export const frozenAnswers = (bank: BankClient): BankClient => ({
  ...bank,
  read(operation, input, limits, reader) {
    bank.read(operation, input, limits, {
      onAnswer(read) {
        freeze(read.answer);
        reader.onAnswer(read);
      },
      onError: (error) => reader.onError(error),
    });
  },
});

/** The errors in an answer's places are not frozen: they are made for one answer, and belong to it. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Error || Object.isFrozen(value)) return;
  for (const member of Object.values(Object.freeze(value))) freeze(member);
}
