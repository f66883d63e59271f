import { stopStart } from '../../errors.ts';
import { initStore } from '../../payments/store/open-store.ts';
import { expectNone, notInMemory, subcommand } from './operator.ts';

export const init = subcommand(
  `usage: bankql payments init

Makes the payment store that STATE_URL names: a SQLite file and its folder, or the tables in PostgreSQL. A store that is
there stays as it is. Run it once, by hand, for a new store. In a new store all idempotency keys are free: where payments were
recorded before, put the backup back, or mount the volume that holds them.

  STATE_URL=sqlite:/var/lib/bankql/state.db bankql payments init
`,
  {},
  ({ positionals }) => {
    expectNone('init', positionals);
    return async ({ state, write }) => {
      notInMemory(state.url);
      const { shown, isNew } = await initStore(state.url).catch(stopStart());
      write(
        isNew
          ? `Made a new, empty payment store: ${shown}\n`
          : `There is a payment store already, and it stays as it is: ${shown}\n`,
      );
    };
  },
);
