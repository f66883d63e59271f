import { operations } from '../contract/operations.ts';
import { StartError } from '../errors.ts';
import { classifyPaymentResponse } from './classify.ts';
import type { BankWords } from './payment-words.ts';

/** The answer in `bankql doctor --payment-answer '200 {"id":"T"}'`. Errors: StartError. */
export function readPaymentAnswer(answer: string): { status: number; body: string } {
  const [, status, body = ''] = /^([1-5]\d\d)(?:\s+([\s\S]*))?$/.exec(answer) ?? [];
  if (status === undefined)
    throw new StartError(`--payment-answer needs a status and a body, such as '200 {"id":"T"}'.`);
  return { status: Number(status), body };
}

/** Explains what bankql makes of an answer to a payment. Shape: the exit code, 0 if it decides for one of the operations. */
export function explainPaymentAnswer(
  { status, body }: { readonly status: number; readonly body: string },
  bankWords: BankWords,
  write: (text: string) => void,
): number {
  const nothing = { toBankId: null, toAccountId: null, currency: null, amount: null, description: null };
  const response = { status, body: Buffer.from(body), headers: { 'content-length': String(body.length) } };
  const states = [operations.postMakeTransaction, operations.putTransactionsRequestAccount].map(
    (operation) => {
      const verdict = classifyPaymentResponse(response, { operation, bankWords, sent: nothing, secrets: [] });
      const { state, isAccepted, unknown, drifts } = verdict;
      write(`${operation.id}: ${state}${isAccepted ? ' (accepted, not known to be executed)' : ''}\n`);
      if (drifts.length > 0) write(`    drift ${drifts.join(', ')}\n`);
      if (unknown !== undefined)
        write(`    not known: ${unknown.names.join(', ') || 'the answer as a whole'}; set ${unknown.hint}\n`);
      return state;
    },
  );
  write('Members that repeat the payment were not compared, because none was sent.\n');
  return states.every((state) => state === 'UNKNOWN') ? 1 : 0;
}
