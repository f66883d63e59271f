import type { BankClient } from '../../src/bank/client.ts';

/**
 * A bank whose answers nobody can change. They are shared (share.ts, parsed-responses.ts): whoever changed
 * one would change another caller's.
 */
export const frozenAnswers = (bank: BankClient): BankClient => ({
  ...bank,
  async read(operation, input, limits) {
    const read = await bank.read(operation, input, limits);
    freeze(read.answer);
    return read;
  },
});

/** The errors in an answer's places are not frozen: they are made for one answer, and belong to it. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Error || Object.isFrozen(value)) return;
  for (const member of Object.values(Object.freeze(value))) freeze(member);
}
