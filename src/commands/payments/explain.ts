import { readConfig } from '../../config/config.ts';
import { operations } from '../../contract/operations.ts';
import { classifyPaymentResponse } from '../../payments/answer/classify.ts';
import { type CliContext, type Given, UsageError } from '../command.ts';

const nothingSent = {
  bankId: null,
  accountId: null,
  toBankId: null,
  toAccountId: null,
  currency: null,
  amount: null,
  description: null,
  trackId: null,
  others: [],
  // There is no payment here, so no date in the answer may count as too early.
  createdAt: Number.NEGATIVE_INFINITY,
};

/** The effect of an answer on a payment and its key. */
const meanings = {
  DONE: 'The bank executed the payment. The key is used: sent again, it gets this outcome, and nothing is paid again.',
  REJECTED:
    'The bank refused the payment, and did not execute it. The key is used: sent again, it gets this refusal. To pay, the client takes a new key.',
  RELEASED:
    'The request was refused before the payment was read. No record is kept, and the key is free: sent again, it pays.',
  UNKNOWN:
    'The bank may have executed the payment. The key is used: sent again, it gets OUTCOME_UNKNOWN, and nothing is paid, until somebody settles it (bankql payments settle).',
} as const;

const answered = [
  ['makeTransaction', operations.postMakeTransaction],
  ['putTransactionRequest', operations.putTransactionsRequestAccount],
] as const;

/**
 * `bankql payments explain '200 {"id":"T"}'`: prints how bankql reads this answer of the bank.
 * Shape: the exit code: 0 if the answer means DONE or REJECTED for at least one operation.
 * Errors: UsageError if the text is not an answer.
 */
export async function explain({ environment, write }: CliContext, { words }: Given): Promise<number> {
  const [, status, body = ''] = /^([1-5]\d\d)(?:\s+([\s\S]*))?$/.exec(words.join(' ')) ?? [];
  if (status === undefined)
    throw new UsageError(`explain takes a status and a body, such as '200 {"id":"T"}'.`);
  // The command uses no payment store, listens on no port, and runs as one process.
  const unused = { STATE_URL: 'memory:', HOST: undefined, WORKERS: undefined };
  const { paymentWords: bankWords, bankLimits } = readConfig({ ...environment, ...unused });
  const content = Buffer.from(body);
  const response = {
    status: Number(status),
    body: content,
    headers: { 'content-length': String(content.length) },
  };
  const states = answered.map(([name, operation]) => {
    const options = { operation, bankWords, gateways: bankLimits.gateways, sent: nothingSent, secrets: [] };
    const { state, isAccepted, unknown, drifts } = classifyPaymentResponse(response, options);
    write(`${name}: ${state}${isAccepted ? ' (accepted, perhaps not executed)' : ''}\n`);
    write(`    ${meanings[state]}\n`);
    if (drifts.length > 0) write(`    drift ${drifts.join(', ')}\n`);
    if (unknown !== undefined)
      write(
        `    not understood: ${unknown.names.join(', ') || 'the answer as a whole'}; set ${unknown.hint}\n`,
      );
    return state;
  });
  write('Members that repeat the payment were not compared, because none was sent.\n');
  return states.every((state) => state === 'UNKNOWN') ? 1 : 0;
}
