import { existsSync } from 'node:fs';
import { counted, StartError, stopStart } from '../../errors.ts';
import type { RowCounts } from '../../payments/driver.ts';
import { backupStore } from '../../payments/stores/sqlite/backup.ts';
import { parseStoreUrl } from '../../payments/stores/store-address.ts';
import { confirm, expectNone, type OperatorContext, sentence, subcommand } from './operator.ts';
import { isoTime } from './payment-table.ts';

export const backup = subcommand(
  `usage: bankql payments backup FILE

Copies the records of a SQLite store to FILE while bankql serves, and verifies the copy. An existing file is not replaced.
A plain copy of the file misses what is in its write-ahead log.

  bankql payments backup /var/backups/bankql-2026-01-15.db
`,
  {},
  ({ positionals }) => {
    const file = oneFile('backup', positionals);
    return async ({ state, write, progress }) => {
      const path = sqlitePath(state.url);
      if (existsSync(file))
        throw new StartError(
          `${file} exists, and is not replaced: name a file that does not exist, or move this one away.`,
        );
      progress('Copying the records, and verifying the copy …');
      const held = await backupStore(path, file).catch(stopStart());
      progress(null);
      write(`Backed up ${describe(held)} to ${file}.\n`);
    };
  },
);

export const acceptLoss = subcommand(
  `usage: bankql payments accept-loss --by "<name>" --reason "<text>" [--yes]

Lets payments go on in a store that holds fewer records than were written to it. A lost payment whose client sends it again
is then paid again: restore a backup if there is one, and tell clients.

  --by NAME            who decided it
  --reason TEXT        why it is right
  --yes                do not ask

  bankql payments accept-loss --by "Ada" --reason "disk lost, no backup, clients informed"
`,
  { by: { type: 'string' }, reason: { type: 'string' }, yes: { type: 'boolean' } },
  ({ values, positionals }) => {
    expectNone('accept-loss', positionals);
    const by = sentence('by', 'who decided it', values.by);
    const reason = sentence('reason', 'why it is right', values.reason);
    return async (context) => {
      const { withStore, write } = context;
      await withStore(async (store) => {
        if (store.loss === null)
          throw new StartError('As far as is known here, no records are missing. Nothing was written.');
        write(`${store.loss}\n`);
        await confirm(context, 'Let payments go on without them?', values.yes === true);
        await store.acceptLoss(`${by}: ${reason}`);
      });
      write(`Payments go on, by ${by}: ${reason}\n`);
    };
  },
);

function oneFile(command: string, words: readonly string[]): string {
  const [file, ...others] = words;
  if (file === undefined || others.length > 0) throw new StartError(`${command} takes one file.`);
  return file;
}

/** Errors: StartError for a store that is no SQLite file. */
function sqlitePath(url: OperatorContext['state']['url']): string {
  const store = parseStoreUrl(url);
  if (store.kind === 'sqlite') return store.path;
  throw new StartError(
    'Only a SQLite store is copied so: STATE_URL has to be sqlite:PATH. PostgreSQL has its own tools (pg_dump, pg_basebackup, archived logs).',
  );
}

const describe = ({ records, newestAt }: RowCounts) =>
  `${counted(records, 'payment')}${newestAt === null ? '' : `, the newest of ${isoTime(newestAt)}`}`;
