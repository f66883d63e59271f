import { existsSync } from 'node:fs';
import { counted, StartError, stopStart } from '../../errors.ts';
import {
  backupStore,
  type RestorePlan,
  restoreStore,
  type StoreContents,
} from '../../payments/stores/sqlite/backup.ts';
import { parseStoreUrl } from '../../payments/stores/store-address.ts';
import { confirm, expectNone, type OperatorContext, sentence, subcommand } from './operator.ts';
import { isoTime, paymentTable } from './payment-table.ts';

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

export const restore = subcommand(
  `usage: bankql payments restore FILE --by "<name>" [--yes]

Puts a backup in the place of a SQLite store's records. Stop every bankql that uses them first. Names the payments that were
begun after the backup, counts those that have no names, or says that it cannot know: clients that send one of them again pay
again. The replaced file stays in the same folder.

  --by NAME            who decided it
  --yes                do not ask

  bankql payments restore /var/backups/bankql-2026-01-15.db --by "Ada"
`,
  { by: { type: 'string' }, yes: { type: 'boolean' } },
  ({ values, positionals }) => {
    const file = oneFile('restore', positionals);
    const by = sentence('by', 'who decided it', values.by);
    return async (context) => {
      const { state, now, write, progress } = context;
      progress('Verifying the backup …');
      const restored = await restoreStore(file, sqlitePath(state.url), {
        by,
        now,
        witness: state.witness,
        async confirm(plan) {
          progress(null);
          write(describePlan(plan, now, state.witness));
          await confirm(context, 'Restore it?', values.yes === true);
          progress('Putting the backup in place …');
          return true;
        },
      }).catch(stopStart());
      progress(null);
      if (restored === null) throw new StartError('Nothing was changed.');
      const replaced = restored.replaced === null ? '' : ` The replaced file is ${restored.replaced}.`;
      write(`Restored ${describe(restored.backup)}.${replaced}\n`);
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
      const { withStore, state, now, write } = context;
      await withStore(async (store) => {
        if (store.loss === null)
          throw new StartError(
            `As far as is known here, no records are missing. Nothing was written.${
              state.witness === undefined
                ? ' If the bankql that refuses payments has STATE_WITNESS, this command needs it too: without it nobody can say here whether records were lost.'
                : ''
            }`,
          );
        write(`${store.loss}\n`);
        await confirm(context, 'Let payments go on without them?', values.yes === true);
        await store.acceptLoss(`${by}: ${reason}`, now);
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

const describe = ({ records, newestAt }: StoreContents) =>
  `${counted(records, 'payment')}${newestAt === null ? '' : `, the newest of ${isoTime(newestAt)}`}`;

function describePlan(
  { backup: held, missing, unnamed, isCounted, unreadable }: RestorePlan,
  now: number,
  witness: string | undefined,
): string {
  const lines = [`The backup holds ${describe(held)}.\n`];
  if (unreadable !== null)
    lines.push(
      `The file that it replaces cannot be read, so that what it held has no names: ${unreadable}\n`,
    );
  if (missing.length > 0)
    lines.push(
      `These ${missing.length} began after the backup; whoever sends one again pays again:\n`,
      paymentTable(missing, now, { withState: true }),
    );
  if (unnamed > 0)
    lines.push(`As the high-water mark says, ${unnamed} more began after it, without names.\n`);
  if (!isCounted) {
    lines.push(
      'Nothing here says what else began after it: no file in use and no high-water mark belongs to the same store. Clients that send such a payment again pay again. Compare with what the bank executed since then, and after the restore with the log (find-missing --from-log), before bankql starts.\n',
    );
    if (witness === undefined)
      lines.push(
        'If the bankql whose payments these are has STATE_WITNESS, this command needs it too: the mark there counts them.\n',
      );
  } else if (missing.length === 0 && unnamed === 0)
    lines.push('As far as the file in use and the high-water marks tell, it misses none.\n');
  return lines.join('');
}
