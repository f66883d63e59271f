import { readConfig } from '../config/config.ts';
import { runDoctor } from '../doctor/doctor.ts';
import { readDoctorOptions } from '../doctor/doctor-options.ts';
import { explainPaymentAnswer, paymentAnswerIn } from '../payments/explain-answer.ts';
import { example } from '../sandbox/identity.ts';
import { startSandbox } from '../sandbox/server.ts';
import { readBankTls } from './bank-tls.ts';
import type { CliContext } from './command.ts';

/** `bankql doctor`: holds a bank's answers against the contract. Gives the exit code. */
export async function checkBank({ environment, args, write, progress }: CliContext): Promise<number> {
  // It keeps no state and listens nowhere.
  const config = readConfig({ ...environment, STATE_URL: 'memory:', HOST: undefined });
  const answer = paymentAnswerIn(args);
  if (answer !== null) return explainPaymentAnswer(answer, config.paymentWords, write);
  const { bankId, viewId, accountScope } = config.server.defaults;
  const given = {
    ids: { ...(bankId === null ? {} : { 'bank-id': bankId }), view: viewId },
    credentials: { subscriptionKey: config.subscriptionKey, authProviderName: null, authId: null },
  };
  const options = readDoctorOptions(args, environment, config.bank === null ? example : given);
  const sandbox = config.bank === null ? await startSandbox({ ...config.sandbox, port: 0 }) : null;
  if (sandbox !== null)
    write(
      'BANK_BASE_URL names no bank: this checks the embedded sandbox bank, and says nothing of yours.\n\n',
    );
  try {
    const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
    const { bankTls, bankLimits } = config;
    const secureContext = bankTls === null ? undefined : (await readBankTls(bankTls)).secureContext;
    const network = { ...bankLimits.network, secureContext };
    return await runDoctor({
      ...options,
      bank: { ...bankLimits, network, baseUrl },
      accountScope,
      write,
      progress,
    });
  } finally {
    await sandbox?.close();
  }
}
