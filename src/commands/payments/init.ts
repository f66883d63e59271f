import { stopStart } from '../../errors.ts';
import { initStore } from '../../payments/store/open-store.ts';
import type { CliContext } from '../command.ts';
import { namedStore } from './operator.ts';

/** `bankql payments init`. */
export async function init(context: CliContext): Promise<number> {
  const { shown, isNew } = await initStore(namedStore(context).url).catch(stopStart());
  context.write(
    isNew
      ? `Made a new, empty payment store: ${shown}\n`
      : `There is a payment store already, and it stays as it is: ${shown}\n`,
  );
  return 0;
}
