import { startProcess } from './process.ts';
import type { RecordedCall } from './recording-bank.ts';
import { type SandboxRecorder, startSandboxRecorder } from './sandbox-recorder.ts';

/** bankql as a separate process with the sandbox bank. Every call between them is recorded. */
export interface LiveBankql extends AsyncDisposable {
  readonly url: string;
  readonly bank: SandboxRecorder;
  /** The payments that reached the bank. */
  payments(): RecordedCall[];
}

export const isPayment = ({ method, path }: RecordedCall) =>
  method === 'POST' && path.endsWith('/make-transaction');

/** Starts bankql with the viewer of the embedded sandbox: the login is the customer's id. */
export async function startLiveBankql(
  environment: Readonly<Record<string, string>> = {},
): Promise<LiveBankql> {
  await using stack = new AsyncDisposableStack();
  const bank = stack.use(await startSandboxRecorder());
  const { url } = stack.use(
    await startProcess({
      BANK_BASE_URL: bank.recorder.url,
      BANK_ID: 'SNDBCY2N',
      VIEWER_CUSTOMER_ID: '{auth-id}',
      VIEWER_ACCOUNT_ID: '{auth-id}-current',
      STATE_URL: 'memory:',
      ...environment,
    }),
  );
  const owned = stack.move();
  return {
    url,
    bank,
    payments: () => bank.recorder.calls.filter(isPayment),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
