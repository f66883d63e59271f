import { counted, StartError } from '../../errors.ts';
import { recordFromLog } from '../../payments/audit.ts';
import type { PaymentStore } from '../../payments/store/store.ts';
import type { CliContext, Given } from '../command.ts';
import type { acceptLossOptions } from '../commands.ts';
import { type LoggedAttempt, readAttempts } from './from-log.ts';
import { confirm, operatorOf, sentence, thesePayments } from './operator.ts';
import { paymentTable } from './payment-listing.ts';

/** `bankql payments accept-loss`. */
export async function acceptLoss(
  context: CliContext,
  { values }: Given<typeof acceptLossOptions>,
): Promise<number> {
  const by = `${sentence('by', 'who decided it', values.by)}: ${sentence('reason', 'why it is right', values.reason)}`;
  const file = values['from-log'];
  const { now = Date.now(), write, writeError } = context;
  const { lookAtStore, withStore, retentionMs } = operatorOf(context);
  const attempts = file === undefined ? [] : await readAttempts(file, writeError);
  const { loss, lost } = await lookAtStore(async (store) => ({
    lost: await lostOf(store, attempts, now - retentionMs),
    loss: store.loss,
  }));
  if (loss === null && lost.length === 0) {
    if (file === undefined)
      throw new StartError(
        'As far as the store knows, it has all records; --from-log FILE compares it with a log.',
      );
    write(`The store has each payment of ${file} that it has to keep. Nothing was written.\n`);
    return 0;
  }
  if (loss !== null) write(`${loss}\n`);
  if (lost.length > 0) write(paymentTable(lost, now));
  await confirm(context, questionOf(lost.length, loss), values.yes === true);
  await withStore(async (store) => {
    let recorded = 0;
    for (const attempt of lost)
      if (await store.recover(recordFromLog(attempt), `${by} (the log says ${attempt.state})`)) recorded++;
    if (file !== undefined) write(`Recorded ${counted(recorded, 'payment')} as UNKNOWN, by ${by}\n`);
    if (loss === null) return;
    await store.acceptLoss(by);
    write(`Payments go on, by ${by}\n`);
  });
  return 0;
}

/**
 * The logged attempts whose records the store lacks. Those that ended before `keptSince` are left out: they may have expired.
 */
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
