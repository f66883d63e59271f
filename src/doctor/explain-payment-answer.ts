import type { GatewayAnswers } from '../bank/gateway-answers.ts';
import { operations } from '../contract/operations.ts';
import { StartError } from '../errors.ts';
import { classifyPaymentResponse } from '../payments/answer/classify.ts';
import type { BankWords } from '../payments/answer/payment-words.ts';

const nothingSent = {
  ...{ bankId: null, accountId: null, toBankId: null, toAccountId: null, currency: null, amount: null },
  ...{ description: null, trackId: null, others: [] },
  // The answer to an earlier payment is as good an example as any.
  createdAt: Number.NEGATIVE_INFINITY,
};

/**
 * Explains how bankql reads the answer in `bankql doctor --payment-answer '200 {"id":"T"}'`.
 * Shape:  the exit code, 0 if the answer decides a payment of one of the operations.
 * Errors: StartError if the text is no answer.
 */
export function explainPaymentAnswer(
  answer: string,
  bankWords: BankWords,
  write: (text: string) => void,
  gateways?: GatewayAnswers,
): number {
  const [, status, body = ''] = /^([1-5]\d\d)(?:\s+([\s\S]*))?$/.exec(answer) ?? [];
  if (status === undefined)
    throw new StartError(`--payment-answer needs a status and a body, such as '200 {"id":"T"}'.`);
  const headers = { 'content-length': String(body.length) };
  const response = { status: Number(status), body: Buffer.from(body), headers };
  const states = [operations.postMakeTransaction, operations.putTransactionsRequestAccount].map(
    (operation) => {
      const options = { operation, bankWords, gateways, sent: nothingSent, secrets: [] };
      const { state, isAccepted, unknown, drifts } = classifyPaymentResponse(response, options);
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
