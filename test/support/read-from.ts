import type { BankClient, BankRead } from '../../src/bank/client.ts';
import type { ReadLimits } from '../../src/bank/reads.ts';
import type { CallInput } from '../../src/bank/request.ts';
import type { Answer, Operation } from '../../src/contract/operation.ts';

/** A read of a record by its ids. */
export const readFrom = <T extends Operation & { readonly kind: 'read' }>(
  client: BankClient,
  operation: T,
  input: CallInput<T>,
  limits?: ReadLimits,
): Promise<BankRead<Answer<T>>> => client.read(operation, input, limits);
