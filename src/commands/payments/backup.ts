import { existsSync } from 'node:fs';
import { counted, StartError, stopStart } from '../../errors.ts';
import { backupStore } from '../../payments/store/sqlite/backup.ts';
import { parseStoreUrl } from '../../payments/store/store-address.ts';
import { notInMemory, subcommand } from './operator.ts';
import { isoTime } from './payment-table.ts';

export const backup = subcommand(
  `usage: bankql payments backup FILE

Copies a SQLite store to FILE while bankql serves, and checks the copy. A file that is there is not replaced.
A plain copy of the store's file misses what is in its write-ahead log.

  bankql payments backup /var/backups/bankql-2026-01-15.db
`,
  {},
  ({ positionals: [file, ...others] }) => {
    if (file === undefined || others.length > 0) throw new StartError('backup takes one file.');
    return async ({ state, write }) => {
      notInMemory(state.url);
      const store = parseStoreUrl(state.url);
      if (store.kind !== 'sqlite')
        throw new StartError(
          'This copies SQLite stores only. Back PostgreSQL up with pg_dump, or with its archived logs.',
        );
      if (existsSync(file))
        throw new StartError(`${file} exists, and is not replaced: name a file that does not exist.`);
      const { records, newestAt } = await backupStore(store.path, file).catch(stopStart());
      const newest = newestAt === null ? '' : `, the newest of ${isoTime(newestAt)}`;
      write(`Backed up ${counted(records, 'payment')}${newest} to ${file}.\n`);
    };
  },
);
