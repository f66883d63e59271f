import { isObject } from '../../is-object.ts';
import {
  idText,
  isEmptyContainer,
  isEmptyText,
  isId,
  isPast,
  isSame,
  type Sent,
  scalarOf,
  sentIds,
} from './answer-values.ts';
import { type About, type Fact, factsIn } from './facts.ts';
import type { Reason } from './payment-words.ts';
import * as words from './payment-words.ts';
import { type Finding, finding, pathOf } from './success-answer.ts';

/** bankql understands a refusal with a 4xx if it understands every member, and one of them gives a reason. */

/**
 * A known code is a reason only if all texts beside it are known too, because another text may say that the payment was
 * executed nevertheless. A code that the operator lists is a reason beside any text.
 */
export function readRefusal(status: number, object: object, about: About): Finding {
  const facts = refusalFacts(object);
  const codes = facts.flatMap(({ name, value }) =>
    words.codeName.test(name) ? [scalarOf(value) ?? ''] : [],
  );
  const found = facts.map((fact) => [pathOf(fact), readReason(status, fact, codes, about)] as const);
  const says = new Set(found.map(([, reason]) => reason));
  const isRejected = says.has('taught') || (says.has('reason') && !says.has('unknown'));
  if (isRejected && !says.has('strange')) return finding('rejected');
  const code = codes.find((each) => words.isReason(words.readCode(each, about.bankWords)));
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
const refusalFacts = (object: object): Fact[] =>
  factsIn(object, ({ path, place, value }) => {
    const isOnlyEntry = place === 'errors' && Array.isArray(value) && value.length === 1;
    return /^errors?$/.test(place) && (isObject(value) || (isOnlyEntry && path.length === 1));
  });

/** `strange`: a member that is not understood. A text with unknown words is `unknown` instead. */
function readReason(
  status: number,
  { name, place, value }: Fact,
  codes: readonly string[],
  { bankWords, sent, now }: About,
): Reason | 'strange' {
  const text = scalarOf(value);
  const isPlain = text !== null && !isEmptyText(value);
  const unless = (isUnderstood: boolean) => (isUnderstood || isEmptyText(value) ? 'neutral' : 'strange');
  // An object inside this object is not read.
  if (place.includes('_') && isObject(value)) return 'strange';
  if (words.creationName.test(name) || words.timeName.test(name)) return unless(isPast(value, now));
  if (words.requestIdName.test(name)) return unless(/\d/.test(text ?? '') && isId(value));
  if (words.textName.test(name) || /^errors?$/.test(name))
    return isPlain
      ? words.readText(withoutSentIds(text, sent), bankWords, codes)
      : unless(isEmptyContainer(value));
  if (!words.codeName.test(name)) return 'strange';
  if (!isPlain || text === String(status)) return unless(isPlain);
  const reason = words.readCode(text, bankWords);
  if (name === 'status' && words.readText(text, bankWords) === 'neutral') return 'neutral';
  return reason === 'unknown' ? 'strange' : reason;
}

/** Removes the ids that Open Bank Project adds after its sentences (`unboxFullOrFail`), if they are those of the request. */
function withoutSentIds(text: string, sent: Sent): string {
  const [, sentence = text, bankId, accountId] =
    /^(OBP-\d{5}: .{1,200}?) +Current BankId is (\S{1,128}) and Current AccountId is (\S{1,128})$/.exec(
      text,
    ) ?? [];
  const isSent = (id: string | undefined) => sentIds(sent).some((own) => isSame(id, own, idText));
  return isSent(bankId) && isSent(accountId) ? sentence : text;
}
