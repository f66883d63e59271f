import { readConfig } from '../config/config.ts';
import { anyPort, time } from '../config/formats.ts';
import { orStop } from '../errors.ts';
import * as identity from '../sandbox/identity.ts';
import { type Sandbox, startSandbox } from '../sandbox/server.ts';
import { type CliContext, readWords, type Service } from './command.ts';

/** The options of the sandbox bank. `--port` takes the place of SANDBOX_PORT. Errors: StartError. */
function sandboxOf(environment: CliContext['environment'], args: readonly string[]) {
  const options = { port: { type: 'string' }, now: { type: 'string' } } as const;
  const { port, now } = readWords('sandbox', args, options).values;
  // It serves nothing else: the ports of bankql are free for it.
  const unused = { PORT: '0', METRICS_PORT: undefined, WORKERS: undefined, BANK_BASE_URL: undefined };
  const { sandbox } = readConfig({ ...environment, ...unused, NODE_ENV: undefined });
  return {
    port:
      port === undefined ? sandbox.port : orStop(() => anyPort.read(port), `--port=${port} cannot be used: `),
    now: now === undefined ? now : orStop(() => time.read(now), `--now=${now} cannot be used: `),
  };
}

/** `bankql sandbox`: only the sandbox bank. Errors: StartError. */
export async function runSandbox({ environment, args, write }: CliContext): Promise<Service> {
  return announced(await startSandbox(sandboxOf(environment, args)), write);
}

/** Says where the sandbox bank is, and how it is called. */
function announced(sandbox: Sandbox, write: CliContext['write']): Service {
  const key = `Ocp-Apim-Subscription-Key: ${identity.subscriptionKey}`;
  write(
    [
      `The sandbox bank answers at ${sandbox.url}, to callers ${identity.callers.join(', ')}.`,
      'docs/sandbox.md says who they are and what to try.',
      '',
      `  curl ${sandbox.url}/v1/api/banks/${identity.bankId}/branches -H '${key}'`,
      '',
      '',
    ].join('\n'),
  );
  return { stop: () => sandbox.close(), reload: async () => {} };
}
