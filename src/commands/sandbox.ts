import { readConfig } from '../config/config.ts';
import { ConfigError } from '../config/start-error.ts';
import { FaultError } from '../sandbox/faults/fault.ts';
import * as identity from '../sandbox/identity.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/server.ts';
import type { CliContext } from './cli-context.ts';
import type { Service } from './service.ts';

/** Starts the sandbox bank. Errors: ConfigError where its faults cannot be used. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await startSandbox(options);
  } catch (error) {
    if (error instanceof FaultError)
      throw new ConfigError([
        { variable: 'SANDBOX_FAULTS', value: options.faults ?? '', remedy: error.message },
      ]);
    throw error;
  }
}

/** The headers of alice, a customer of the sandbox bank. */
export const alice = {
  'Ocp-Apim-Subscription-Key': identity.subscriptionKey,
  'Auth-Provider-Name': identity.authProvider,
  'Auth-ID': 'alice',
};

/** `bankql sandbox`: the sandbox bank alone. */
export async function serveSandbox({ environment, write }: CliContext): Promise<Service> {
  const { sandbox: options } = readConfig({ ...environment, BANK_BASE_URL: undefined, SANDBOX: 'on' });
  const sandbox = await openSandbox(options);
  const key = `Ocp-Apim-Subscription-Key: ${identity.subscriptionKey}`;
  write(
    [
      `The sandbox bank answers at ${sandbox.url}, to callers alice and bob.`,
      '',
      `  curl ${sandbox.url}/v1/api/banks/${identity.bankId}/branches -H '${key}'`,
      '',
      '',
    ].join('\n'),
  );
  return { stop: () => sandbox.close(), reload: async () => {}, flush() {} };
}
