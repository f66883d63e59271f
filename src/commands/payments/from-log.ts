import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { messageOf, StartError } from '../../errors.ts';
import { type AuditEntry, auditedStates } from '../../payments/audit.ts';
import type { PaymentState } from '../../payments/payment-record.ts';

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
  bankText: text,
  requestId: text,
  replica: text,
});

/** An attempt to pay that may have been sent, with the state in its last audit line. */
export interface LoggedAttempt extends AuditEntry {
  readonly state: PaymentState;
  /** See PaymentRecord. */
  readonly damaged?: true | undefined;
}

/**
 * The attempts in a log of bankql that were sent, or may have been, oldest first. Other lines are skipped. `writeError`: receives
 * a message for each audit line that cannot be read.
 * Errors: StartError if the file cannot be read, or has no audit line of a payment.
 */
export async function readAttempts(
  file: string,
  writeError: (text: string) => void,
): Promise<LoggedAttempt[]> {
  const attempts = new Map<string, AuditEntry>();
  let number = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
      number++;
      if (line.includes('\0')) throw new Error('it is in UTF-16, or no text: save it in UTF-8.');
      const entry = audited.test(line) ? readLine(line) : null;
      if (entry === undefined) writeError(`${file}:${number}: this audit line is damaged, and left out.\n`);
      if (entry == null) continue;
      const key = `${entry.id} ${entry.trackId}`;
      const last = attempts.get(key);
      if (last === undefined || last.updatedAt <= entry.updatedAt) attempts.set(key, entry);
    }
  } catch (error) {
    throw new StartError(`${file} cannot be read: ${messageOf(error)}`);
  }
  if (attempts.size === 0) throw new StartError(`${file} has no audit line of a payment.`);
  return [...attempts.values()]
    .flatMap(({ state, ...entry }) =>
      state === 'NOT_SENT' || state === 'RELEASED' ? [] : [{ ...entry, state }],
    )
    .sort((a, b) => a.createdAt - b.createdAt);
}

/** Matches a member `audit`, even in JSON that is a text within other JSON. */
const audited = /"audit\\*"/;
const auditedInText = /\\"audit\\+":\\+"payment\\+"/;

/**
 * Reads a line. Returns its entry if it is an audit line; null for a line of another kind; undefined for an
 * audit line that is damaged, or that a log collector has put into other JSON. A byte order mark, or the
 * prefix of a log collector such as that of `kubectl logs --prefix`, may precede the JSON.
 */
function readLine(line: string): AuditEntry | null | undefined {
  try {
    const json: unknown = JSON.parse(line.slice(line.indexOf('{')));
    if (Object(json).audit !== 'payment') return auditedInText.test(line) ? undefined : null;
    const { audit: _, ...entry } = auditLine.parse(json);
    return entry;
  } catch {
    return undefined;
  }
}
