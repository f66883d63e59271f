import { counted, StartError } from '../../errors.ts';
import { recordFromLog } from '../../payments/audit.ts';
import type { PaymentStore } from '../../payments/store/store.ts';
import { type LoggedAttempt, readAttempts } from './from-log.ts';
import { confirm, expectNone, sentence, subcommand, thesePayments } from './operator.ts';
import { paymentTable } from './payment-table.ts';

export const acceptLoss = subcommand(
  `usage: bankql payments accept-loss [--from-log FILE] --by "<name>" --reason "<text>" [--yes]

Lets payments go on in a store that lost records. A lost payment whose client sends it again is then paid again. With
--from-log, each payment that the log names and the store lacks is recorded as UNKNOWN first, so that it is not sent again, also
in a new store. Give the logs of all processes, in one file.

  --from-log FILE      a log of bankql, a line of JSON each; lines of other kinds are left out
  --by NAME            who decided it
  --reason TEXT        why it is right
  --yes                do not ask

  bankql payments accept-loss --from-log /var/log/bankql.log --by "Ada" --reason "disk lost, backup of 3 o'clock restored"
`,
  {
    'from-log': { type: 'string' },
    by: { type: 'string' },
    reason: { type: 'string' },
    yes: { type: 'boolean' },
  },
  ({ values, positionals }) => {
    expectNone('accept-loss', positionals);
    const by = `${sentence('by', 'who decided it', values.by)}: ${sentence('reason', 'why it is right', values.reason)}`;
    const file = values['from-log'];
    return async (context) => {
      const { lookAtStore, withStore, state, now, write, writeError } = context;
      const attempts = file === undefined ? [] : await readAttempts(file, writeError);
      const { loss, lost } = await lookAtStore(async (store) => ({
        lost: await lostOf(store, attempts, now - state.retentionMs),
        loss: store.loss,
      }));
      if (loss === null && lost.length === 0) {
        if (file === undefined)
          throw new StartError(
            'As far as the store knows, it has all records; --from-log FILE compares it with a log.',
          );
        write(`The store has each payment of ${file} that it has to keep. Nothing was written.\n`);
        return;
      }
      if (loss !== null) write(`${loss}\n`);
      if (lost.length > 0) write(paymentTable(lost, now, { withState: true }));
      await confirm(context, questionOf(lost.length, loss), values.yes === true);
      await withStore(async (store) => {
        let recorded = 0;
        for (const attempt of lost)
          if (await store.recover(recordFromLog(attempt), `${by} (the log says ${attempt.state})`))
            recorded++;
        if (file !== undefined) write(`Recorded ${counted(recorded, 'payment')} as UNKNOWN, by ${by}\n`);
        if (loss === null) return;
        await store.acceptLoss(by);
        write(`Payments go on, by ${by}\n`);
      });
    };
  },
);

/** The attempts whose keys are free in the store, except attempts that are older than the retention. */
async function lostOf(
  store: PaymentStore,
  attempts: readonly LoggedAttempt[],
  keptSince: number,
): Promise<LoggedAttempt[]> {
  const lost = new Map<string, LoggedAttempt>();
  for (const attempt of attempts) {
    const { id, state, updatedAt } = attempt;
    const isOld = (state === 'DONE' || state === 'REJECTED') && updatedAt < keptSince;
    if (!isOld && (await store.find(id)) === null) lost.set(id, attempt);
  }
  return [...lost.values()];
}

function questionOf(lost: number, loss: string | null): string {
  if (lost === 0) return 'Let payments go on without the lost records?';
  const record = `Record ${thesePayments(lost)} as UNKNOWN`;
  return loss === null ? `${record}?` : `${record}, and let payments go on?`;
}
