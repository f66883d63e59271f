import { type BankClient, readWith } from '../../src/bank/client.ts';

/**
 * A bank whose answers nobody can change. They are shared (shared-reads.ts, parsed-responses.ts): whoever changed
 * one would change another caller's.
 */
export function frozenAnswers(bank: BankClient): BankClient {
  const startRead: BankClient['startRead'] = (operation, input, limits, reader) =>
    bank.startRead(operation, input, limits, {
      onAnswer(read) {
        freeze(read.answer);
        reader.onAnswer(read);
      },
      onError: (error) => reader.onError(error),
    });
  return { ...bank, startRead, read: readWith(startRead) };
}

/** The errors in an answer's places are not frozen: they are made for one answer, and belong to it. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Error || Object.isFrozen(value)) return;
  for (const member of Object.values(Object.freeze(value))) freeze(member);
}
