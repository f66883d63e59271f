import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { messageOf, StartError } from '../../errors.ts';
import { auditedStates } from '../../payments/record.ts';
import type { PaymentRecord } from '../../payments/store.ts';
import { expectNone, subcommand } from './operator.ts';
import { jsonLine, paymentTable } from './payment-table.ts';

/** Errors: StartError if the file cannot be read. */
async function readLines(file: string, onLine: (line: string, number: number) => void): Promise<void> {
  let number = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') }))
      onLine(line, ++number);
  } catch (error) {
    throw new StartError(`${file} cannot be read: ${messageOf(error)}`);
  }
}

export const findMissing = subcommand(
  `usage: bankql payments find-missing --from-log FILE [--json]

Names the payments that the audit lines of a log say were sent, or may have been, and that the store does not have: what a
restored backup or a failover lost. Finished ones that are older than IDEMPOTENCY_TTL_DAYS are not missing: set it as for the
bankql that serves. Writes nothing.
Exit code 1: some are missing.

  --from-log FILE      a log of bankql, a line of JSON each; lines of other kinds are left out
  --json               their last lines, as JSON

  bankql payments find-missing --from-log /var/log/bankql.log
`,
  { 'from-log': { type: 'string' }, json: { type: 'boolean' } },
  ({ values, positionals }) => {
    expectNone('find-missing', positionals);
    const file = values['from-log'];
    if (file === undefined) throw new StartError('find-missing needs a log: --from-log FILE.');
    return async ({ lookAtStore, state, now, write, writeError }) => {
      const attempts = await readAttempts(file, writeError);
      if (attempts.length === 0) throw new StartError(`${file} has no audit line of a payment.`);
      const kept = attempts.filter(
        ({ state: last, updatedAt }) =>
          (last !== 'DONE' && last !== 'REJECTED') || updatedAt > now - state.retentionMs,
      );
      const missing = await lookAtStore(async (store) => {
        const found: AuditedAttempt[] = [];
        for (const attempt of kept) {
          const record = await store.find(attempt.id);
          if (record?.trackId !== attempt.trackId) found.push(attempt);
        }
        return found;
      });
      if (missing.length === 0) {
        write(`The store has all ${kept.length} payments of ${file} that it has to keep.\n`);
        return;
      }
      if (values.json === true) for (const attempt of missing) write(jsonLine(attempt));
      else write(paymentTable(missing, now, { withState: true }));
      throw new StartError(
        `${missing.length} of ${kept.length} payments of ${file} are not in the store. A client that sends one of them again may pay again.`,
      );
    };
  },
);

const text = z.string().nullable().default(null);
const auditLine = z.object({
  audit: z.literal('payment'),
  id: z.string().min(1),
  trackId: z.string().min(1),
  state: z.enum(auditedStates),
  createdAt: z.number(),
  updatedAt: z.number(),
  operation: z.string().default(''),
  caller: z.string().default(''),
  bankId: z.string().default(''),
  accountId: z.string().default(''),
  toBankId: text,
  toAccountId: text,
  amount: text,
  currency: text,
  code: text,
  status: z.number().nullable().default(null),
});

export type AuditedAttempt = Omit<z.infer<typeof auditLine>, 'state'> & Pick<PaymentRecord, 'state'>;

/** The last line of each attempt that was sent, or may have been, oldest first. */
async function readAttempts(file: string, writeError: (text: string) => void): Promise<AuditedAttempt[]> {
  const attempts = new Map<string, z.infer<typeof auditLine>>();
  await readLines(file, (line, number) => {
    if (!line.includes('"audit"')) return;
    try {
      const json: unknown = JSON.parse(line);
      if (typeof json !== 'object' || json === null || Reflect.get(json, 'audit') !== 'payment') return;
      const entry = auditLine.parse(json);
      const key = `${entry.id} ${entry.trackId}`;
      const last = attempts.get(key);
      if (last === undefined || last.updatedAt <= entry.updatedAt) attempts.set(key, entry);
    } catch {
      writeError(`${file}:${number}: this audit line is damaged, and left out.\n`);
    }
  });
  return [...attempts.values()]
    .flatMap(({ state, ...entry }) =>
      state === 'NOT_SENT' || state === 'RELEASED' ? [] : [{ ...entry, state }],
    )
    .sort((a, b) => a.createdAt - b.createdAt);
}
