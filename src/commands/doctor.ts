import { readBankTls } from '../app/bank-tls.ts';
import { readConfig } from '../config/config.ts';
import { runDoctor } from '../doctor/doctor.ts';
import { type doctorOptions, readDoctorOptions } from '../doctor/doctor-options.ts';
import { example } from '../sandbox/identity.ts';
import { startSandbox } from '../sandbox/server.ts';
import type { CliContext, Given } from './command.ts';

/** `bankql doctor`: compares a bank's answers with the contract. Returns the exit code. */
export async function checkBank(
  { environment, write }: CliContext,
  { values }: Given<typeof doctorOptions>,
): Promise<number> {
  // The doctor uses no payment store, listens on no port, and runs as one process.
  const config = readConfig({ ...environment, STATE_URL: 'memory:', HOST: undefined, WORKERS: undefined });
  const { bankId, viewId, accountScope } = config.server.defaults;
  const configured = {
    ids: { ...(bankId === null ? {} : { 'bank-id': bankId }), view: viewId },
    credentials: { subscriptionKey: config.subscriptionKey, authProviderName: null, authId: null },
  };
  const chosen = readDoctorOptions(values, environment, config.bank === null ? example : configured);
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
