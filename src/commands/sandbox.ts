import { readConfig } from '../config/config.ts';
import { anyPort } from '../config/formats.ts';
import { bankId, callers, subscriptionKey } from '../sandbox/identity.ts';
import { startSandbox } from '../sandbox/server.ts';
import { parseDateTime } from '../schema/date-time.ts';
import { type CliContext, type Given, type Service, UsageError } from './command.ts';
import type { sandboxOptions } from './commands.ts';

/**
 * `bankql sandbox`: starts only the sandbox bank. `--port` replaces SANDBOX_PORT.
 * Errors: StartError.
 */
export async function runSandbox(
  { environment, write }: CliContext,
  { values: { port, now } }: Given<typeof sandboxOptions>,
): Promise<Service> {
  const time = now === undefined ? undefined : parseDateTime(now)?.getTime();
  if (now !== undefined && time === undefined)
    throw new UsageError(`--now=${now} cannot be used: give a time such as 2026-01-31 or 2026-01-31T09:00Z.`);
  // This command does not serve bankql, so the sandbox may have the port of PORT or METRICS_PORT.
  const unused = { PORT: '0', METRICS_PORT: undefined, WORKERS: undefined, BANK_BASE_URL: undefined };
  const { sandbox } = readConfig({ ...environment, ...unused, NODE_ENV: undefined });
  const { url, close } = await startSandbox({
    port: port === undefined ? sandbox.port : readPort(port),
    now: time,
  });
  write(
    [
      `The sandbox bank answers at ${url}, to callers ${callers.join(', ')}.`,
      'docs/sandbox.md says who they are and what to try.',
      '',
      `  curl ${url}/v1/api/banks/${bankId}/branches -H 'Ocp-Apim-Subscription-Key: ${subscriptionKey}'`,
      '',
      '',
    ].join('\n'),
  );
  return { stop: () => close().then(() => 0 as const), reload: async () => {} };
}

function readPort(port: string): number {
  const { data, error } = anyPort.safeParse(port);
  if (data === undefined) throw new UsageError(`--port=${port} cannot be used: ${error?.issues[0]?.message}`);
  return data;
}
