import { isObject } from '../../is-object.ts';
import { idText, isEmptyContainer, isEmptyText, isId, isPast, isSame, scalarOf } from './answer-values.ts';
import type { ReadOptions } from './known-members.ts';
import * as words from './payment-words.ts';
import { fold, type Reason } from './payment-words.ts';
import { type Finding, finding } from './success-answer.ts';

/** A refusal with a 4xx is understood if every member of it is known, and one of them gives a reason. */

/** A member of a refusal, with its path and its folded name. */
interface Part {
  readonly path: string;
  readonly folded: string;
  readonly value: unknown;
}

/**
 * A code decides without a text, or with texts that are known; a code that the operator lists decides with any text. A text beside a
 * code may say that the payment was executed all the same.
 */
export function readRefusal(
  status: number,
  object: Readonly<Record<string, unknown>>,
  options: ReadOptions,
): Finding {
  const parts = partsOf(object);
  const codes = parts.flatMap(({ folded, value }) =>
    words.codeName.test(folded) ? [scalarOf(value) ?? ''] : [],
  );
  const found = parts.map((part) => [part.path, readReason(status, part, codes, options)] as const);
  const says = new Set(found.map(([, reason]) => reason));
  const isRejected = says.has('taught') || (says.has('reason') && !says.has('unknown'));
  if (isRejected && !says.has('strange')) return finding('rejected');
  const code = codes.find((each) => words.isReason(words.readCode(each, options.bankWords)));
  const isByText = code !== undefined && !says.has('strange');
  return finding(
    null,
    found.filter(([, reason]) => reason === 'strange' || reason === 'unknown').map(([path]) => path),
    isByText
      ? `BANK_PAYMENT_REJECTED=${code} if ${code} always means that nothing was executed`
      : 'BANK_PAYMENT_REJECTED',
    code ?? codes.find((each) => each !== '' && each !== String(status)),
  );
}

/** The members of an object, and those of its `error`, or of the only entry of its `errors`. */
const partsOf = (object: Readonly<Record<string, unknown>>): Part[] =>
  Object.entries(object).flatMap(([name, value]): Part[] => {
    const inner: unknown =
      fold(name) === 'errors' && Array.isArray(value) && value.length === 1 ? value[0] : value;
    if (!/^errors?$/.test(fold(name)) || !isObject(inner))
      return [{ path: name, folded: fold(name), value: inner }];
    return Object.entries(inner).map(([part, member]) => ({
      path: `${name}.${part}`,
      // The members of a nested object are not read.
      folded: isObject(member) ? '' : fold(part),
      value: member,
    }));
  });

/** `strange`: a member that is not understood; texts with unknown words do not count. */
function readReason(
  status: number,
  { folded, value }: Part,
  codes: readonly string[],
  { bankWords, sent, now }: ReadOptions,
): Reason | 'strange' {
  const text = scalarOf(value);
  const isPlain = text !== null && !isEmptyText(value);
  const unless = (isUnderstood: boolean) => (isUnderstood || isEmptyText(value) ? 'neutral' : 'strange');
  if (words.creationName.test(folded) || words.timeName.test(folded)) return unless(isPast(value, now));
  if (words.requestIdName.test(folded)) return unless(/\d/.test(text ?? '') && isId(value));
  if (words.textName.test(folded) || /^errors?$/.test(folded))
    return isPlain
      ? words.readText(
          withoutSentIds(text, [
            ...sent.others,
            sent.bankId,
            sent.accountId,
            sent.toBankId,
            sent.toAccountId,
          ]),
          bankWords,
          codes,
        )
      : unless(isEmptyContainer(value));
  if (!words.codeName.test(folded)) return 'strange';
  if (!isPlain || text === String(status)) return unless(isPlain);
  const reason = words.readCode(text, bankWords);
  if (folded === 'status' && words.readText(text, bankWords) === 'neutral') return 'neutral';
  return reason === 'unknown' ? 'strange' : reason;
}

/** Open Bank Project appends the ids of the request to its sentences (`unboxFullOrFail`). */
function withoutSentIds(text: string, sent: readonly (string | null)[]): string {
  const [, sentence = text, bankId, accountId] =
    /^(OBP-\d{5}: .{1,200}?) +Current BankId is (\S{1,128}) and Current AccountId is (\S{1,128})$/.exec(
      text,
    ) ?? [];
  const isSent = (id: string | undefined) => sent.some((own) => isSame(id, own, idText));
  return isSent(bankId) && isSent(accountId) ? sentence : text;
}
