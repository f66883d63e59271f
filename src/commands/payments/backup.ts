import { existsSync } from 'node:fs';
import { counted, StartError, stopStart } from '../../errors.ts';
import { backupStore } from '../../payments/store/sqlite/backup.ts';
import { parseStoreUrl } from '../../payments/store/store-address.ts';
import { type CliContext, type Given, UsageError } from '../command.ts';
import { namedStore } from './operator.ts';
import { isoTime } from './payment-listing.ts';

/** `bankql payments backup`. */
export async function backup(context: CliContext, { words: [file, ...others] }: Given): Promise<number> {
  if (file === undefined || others.length > 0) throw new UsageError('backup takes one file.');
  const store = parseStoreUrl(namedStore(context).url);
  if (store.kind !== 'sqlite')
    throw new StartError(
      'This copies SQLite stores only. Back PostgreSQL up with pg_dump, or with its archived logs.',
    );
  if (existsSync(file))
    throw new StartError(`${file} exists, and is not replaced: name a file that does not exist.`);
  const { records, newestAt } = await backupStore(store.path, file).catch(stopStart());
  const newest = newestAt === null ? '' : `, the newest of ${isoTime(newestAt)}`;
  context.write(`Backed up ${counted(records, 'payment')}${newest} to ${file}.\n`);
  return 0;
}
