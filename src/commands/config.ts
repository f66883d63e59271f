import { readConfig } from '../config/config.ts';
import { inForce } from '../config/effective-settings.ts';
import { StartError } from '../config/start-error.ts';
import type { CliContext } from './cli-context.ts';

/** `bankql config check`, `bankql config show`. Gives the exit code. Errors: StartError with every value that cannot be used. */
export async function manageConfig({ environment, sources, args, write }: CliContext): Promise<number> {
  const [what = '', ...rest] = args;
  if (rest.length > 0 || !['check', 'show'].includes(what))
    throw new StartError('Say what: bankql config check, or bankql config show.');
  if (what === 'show') write(inForce(environment, sources));
  readConfig(environment);
  if (what === 'check') write('The configuration can be used.\n');
  return 0;
}
