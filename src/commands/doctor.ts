import { readBankTls } from '../app/bank-tls.ts';
import { readConfig } from '../config/config.ts';
import { runDoctor } from '../doctor/doctor.ts';
import { doctorOptions, readDoctorOptions } from '../doctor/doctor-options.ts';
import { explainPaymentAnswer } from '../doctor/explain-payment-answer.ts';
import { StartError } from '../errors.ts';
import { example } from '../sandbox/identity.ts';
import { startSandbox } from '../sandbox/server.ts';
import { type CliContext, readWords } from './command.ts';

/** `bankql doctor`: compares a bank's answers with the contract. Returns the exit code. */
export async function checkBank({ environment, args, write }: CliContext): Promise<number> {
  // The doctor needs no payment store and listens on no port.
  const config = readConfig({ ...environment, STATE_URL: 'memory:', HOST: undefined });
  const options = { ...doctorOptions, 'payment-answer': { type: 'string' as const } };
  const { values, positionals } = readWords('doctor', args, options, true);
  // The message does not repeat the word, which may be a credential.
  if (positionals.length > 0)
    throw new StartError('Give options only, such as --account alice-current; --help lists them.');
  const { 'payment-answer': answer, ...given } = values;
  if (answer !== undefined)
    return explainPaymentAnswer(answer, config.paymentWords, write, config.bankLimits.gateways);
  const { bankId, viewId, accountScope } = config.server.defaults;
  const configured = {
    ids: { ...(bankId === null ? {} : { 'bank-id': bankId }), view: viewId },
    credentials: { subscriptionKey: config.subscriptionKey, authProviderName: null, authId: null },
  };
  const chosen = readDoctorOptions(given, environment, config.bank === null ? example : configured);
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
      ...chosen,
      bank: { ...bankLimits, network, baseUrl },
      accountScope,
      write,
    });
  } finally {
    await sandbox?.close();
  }
}
