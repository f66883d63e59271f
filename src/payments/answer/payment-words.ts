/**
 * The words and phrases by which bankql understands a bank's answer to a payment, and the names of members that the contract does not
 * have; the rules are in classify.ts. Names and words are compared by `fold`: case, spaces, `_` and `-` make no difference. Only ASCII is
 * folded: look-alikes of other scripts stay different.
 */
export const fold = (text: string): string =>
  text.replaceAll(/[ \t\r\n_-]+/g, '').replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Like `fold`, but for a value, which keeps its sign: `-1` is not `1`. */
export const foldValue = (text: string): string => (/^\s*-/.test(text) ? '-' : '') + fold(text);

const setOf = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/).map(fold));

export type Meaning = 'done' | 'accepted' | 'rejected';

const statusesOf = (meaning: Meaning, words: string): [string, Meaning][] =>
  [...setOf(words)].map((word) => [word, meaning]);
/** English words, and the statuses of ISO 20022 by their codes and long names. */
const statusWords: ReadonlyMap<string, Meaning> = new Map([
  ...statusesOf(
    'done',
    `ok success successful succeeded booked complete completed confirmed done executed paid processed settled
      ACSC AcceptedSettlementCompleted ACCC AcceptedCreditSettlementCompleted`,
  ),
  ...statusesOf(
    'accepted',
    `accepted approved authorised authorized pending received processing in-process in-progress submitted queued scheduled
      initiated created RCVD PDNG ACTC AcceptedTechnicalValidation ACCP AcceptedCustomerProfile ACFC AcceptedFundsChecked
      ACSP AcceptedSettlementInProcess ACWC AcceptedWithChange ACWP AcceptedWithoutPosting PATC PartiallyAcceptedTechnicalCorrect`,
  ),
  ...statusesOf('rejected', 'failed rejected declined denied refused cancelled canceled RJCT CANC'),
]);
/** Statuses of a transaction request that waits for its customer. For putTransactionsRequestAccount, they are a success. */
const requestWords = setOf('INITIATED NEXT_CHALLENGE_PENDING');

/** The operator's lists and paths: BANK_PAYMENT_DONE, _REJECTED, _STATUS, _RECEIPT and _NEUTRAL. */
export interface BankWords {
  readonly done: ReadonlySet<string>;
  readonly rejected: ReadonlySet<string>;
  readonly statusPath?: readonly string[] | undefined;
  readonly receiptPath?: readonly string[] | undefined;
  readonly neutralPaths?: readonly (readonly string[])[] | undefined;
}
type Paths = Pick<BankWords, 'statusPath' | 'receiptPath' | 'neutralPaths'>;
export const bankWordsOf = (
  done: readonly string[],
  rejected: readonly string[],
  paths: Paths = {},
): BankWords => ({
  ...{ done: new Set(done.map(foldValue)), rejected: new Set(rejected.map(foldValue)) },
  ...paths,
});
export const noBankWords: BankWords = bankWordsOf([], []);

/** The meaning of a value according to the operator's lists. */
export const taughtMeaning = (text: string, { done, rejected }: BankWords): Meaning | undefined =>
  done.has(foldValue(text)) ? 'done' : rejected.has(foldValue(text)) ? 'rejected' : undefined;

/** The meaning of a status; null if the word is unknown. The operator's words take precedence. */
export function meaningOf(text: string, words: BankWords, isRequest: boolean): Meaning | null {
  const word = foldValue(text);
  if (isRequest && requestWords.has(word)) return taughtMeaning(text, words) ?? 'done';
  return taughtMeaning(text, words) ?? statusWords.get(word) ?? null;
}

/** Folded names of members that banks send in addition to those of the contract. */
export const receiptName = /^(?:id|uuid|(?:transaction|payment|transfer)id|transactionids)$/;
export const statusName = /^(?:transaction|payment|transfer)?(?:status|state|result|outcome)$/;
export const creationName =
  /^(?:created(?:at|on|date|time)?|creation(?:date|time|datetime|timestamp)|datecreated)$/;
/** The names of members of a refusal, and of members that come with a status. */
export const codeName = /^(?:code|status|statuscode)$/;
export const textName = /^(?:message|title|detail)$/;
export const reasonName = /^(?:code|message|reason)$/;
export const timeName = /^(?:time|timestamp|date|datetime)$/;
export const requestIdName = /^(?:x?request|correlation|trace|track)id$/;
/**
 * `failureName`: members that mean a failure if they have a value. `successName`: members that mean a failure if they
 * are `false`.
 */
export const failureName = /error|fault|fail|exception|problem|reject|declin|denied|refus|cancel|duplicat/;
export const successName =
  /^(?:is|was|has|been|payment|transfer|transaction|request|order)*(?:ok|success|successful|succeeded|accepted|approved|booked|completed?|confirmed|done|executed|paid|processed|settled|valid)$/;

/** The types of Open Bank Project's transaction requests, which are not in the contract. */
export const requestTypes =
  setOf(`SANDBOX_TAN ACCOUNT ACCOUNT_OTP COUNTERPARTY SEPA FREE_FORM SIMPLE CARD TRANSFER_TO_PHONE
  TRANSFER_TO_ATM TRANSFER_TO_ACCOUNT TRANSFER_TO_REFERENCE_ACCOUNT SEPA_CREDIT_TRANSFERS INSTANT_SEPA_CREDIT_TRANSFERS
  TARGET_2_PAYMENTS CROSS_BORDER_CREDIT_TRANSFERS`);

/** Values that mean no value, or an error. */
const emptyWords = setOf(
  'error errors err fail failure fault exception null nil none nan undefined unknown invalid n/a false true',
);
/** Words by which a text says that a payment was not executed, or was undone. */
const noWords = setOf(`no not ko nok nack nak never cannot unable without impossible bad wrong missing
  wasnt isnt hasnt didnt doesnt couldnt cant wont abort aborted blocked bounced expired halted incomplete recalled refunded returned
  reversal reversed revoked rollback stopped suspended unexecuted unpaid unprocessed unsettled unsuccessful void voided withdrawn
  AM05 DUPL`);
const isNoWord = (word: string): boolean => noWords.has(fold(word));
/** Words by which a text says that a payment is still pending. */
const waitingWords = setOf(
  'awaiting waiting held hold onhold ongoing deferred delayed postponed unconfirmed unverified',
);
/** Whether a word may tell an outcome or an error. A text with such a word is no receipt, no id, and no free text. */
export const isTellingWord = (word: string): boolean =>
  emptyWords.has(fold(word)) || isAgainst(word, 'done', noBankWords);

/**
 * Parts of a folded text or id that suggest a failure. There are more of them than `phrases`, because a mistaken doubt only
 * makes a payment UNKNOWN.
 */
const failureInText = new RegExp(
  `${failureName.source}|timeout|timedout|badrequest|unavailable|unsuccess|insufficient|exceed|invalid|forbidden|unsupported
  |unauthori[sz]ed|nosuch|doesnotexist|amount(?:mustbe|hastobe)|limit(?:reached|usedup)|too(?:low|high|large|small)
  |not(?:executed|booked|paid|processed|completed|settled|enough|sufficient|found|valid|active|supported|allowed|permitted|authori[sz]ed)
  |(?:unknown|blocked|closed)(?:account|iban|amount|currency|bic|payee|beneficiary|recipient|creditor|debtor|counterparty)
  |(?:account|accountnumber|iban)(?:unknown|closed|blocked|frozen|locked|suspended|disabled|inactive|dormant)`.replaceAll(
    /\s+/g,
    '',
  ),
);
const uuid = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;
/** The words of a text, without its UUIDs: their digits may spell a code of ISO 20022, such as ACFC. */
export const wordsOf = (text: string): string[] => text.replaceAll(uuid, '').split(/[^\p{L}\p{N}]+/u);

/** The maximum length of a text that is read. A longer text may say anything. */
const maxRead = 4000;

/**
 * Whether a text, or a part of it, contradicts an outcome: it suggests a failure or a denial or, for a done payment,
 * that the payment is pending.
 */
export function speaksAgainst(said: string, outcome: Meaning, words: BankWords): boolean {
  if (taughtMeaning(said, words) === 'done') return false;
  if (said.length > maxRead) return true;
  if (!/\p{L}/u.test(said)) return taughtMeaning(said, words) === 'rejected';
  const text = said.replaceAll(uuid, '');
  const single = wordsOf(text);
  // The words are also joined across signs, as in `account.closed`.
  const joined = [single, wordsOf(withoutFillers(text))].map((parts) => fold(parts.join('')));
  if (joined.some((each) => failureInText.test(each))) return true;
  const pairs = single.slice(1).map((word, index) => `${single[index]} ${word}`);
  return [text, ...clausesOf(text), ...single, ...pairs].some((part) => isAgainst(part, outcome, words));
}

/** Whether a text says that a payment was executed: it contains a word of success and no negation, or a word for a duplicate. */
export function speaksOfExecution(said: string, words: BankWords): boolean {
  if (taughtMeaning(said, words) === 'rejected') return false;
  if (said.length > maxRead) return true;
  const single = wordsOf(said);
  if (single.some(isDuplicateWord)) return true;
  return single.some((word) => meaningOf(word, words, false) === 'done') && !single.some(isNoWord);
}

function isAgainst(part: string, outcome: Meaning, words: BankWords): boolean {
  const folded = fold(part);
  const meaning = meaningOf(folded, words, false);
  if (meaning === 'done' || meaning === 'rejected') return meaning === 'rejected';
  const isWaiting = meaning === 'accepted' || waitingWords.has(folded);
  return (outcome === 'done' && isWaiting) || noWords.has(folded) || codeTexts.has(folded);
}

const clausesOf = (text: string): string[] => text.split(/[.:;,]/).filter((clause) => clause.trim() !== '');

/** The reasons for a refusal, as whole clauses, and as codes such as INSUFFICIENT_FUNDS. docs/operate.md has the same list. */
export const phrases =
  `insufficient funds, insufficient balance, not enough balance, balance too low, account not found, account does not exist,
  payee not found, beneficiary not found, resource not found, not found, unknown account, account closed, account blocked,
  invalid account, invalid account number, invalid IBAN, invalid amount, invalid currency, limit exceeded,
  daily limit exceeded, rejected, declined, payment rejected, access denied, forbidden`.split(/,\s+/);
const knownPhrases: ReadonlySet<string> = new Set(phrases.map(fold));

/** Codes of ISO 20022 and Open Bank Project, with the names and sentences that their standards give them. */
const codeTexts: ReadonlyMap<string, string> = new Map(
  Object.entries({
    AM04: 'InsufficientFunds',
    AC01: 'IncorrectAccountNumber',
    AC02: 'InvalidDebtorAccountNumber',
    AC03: 'InvalidCreditorAccountNumber',
    AC04: 'ClosedAccountNumber',
    AC05: 'ClosedDebtorAccountNumber',
    AC06: 'BlockedAccount',
    AC07: 'ClosedCreditorAccountNumber',
    'OBP-30003': 'Account not found. Please specify a valid value for ACCOUNT_ID.',
    'OBP-30018': 'Bank Account not found. Please specify valid values for BANK_ID and ACCOUNT_ID.',
    'OBP-30073':
      'Bank Account not found. Please specify valid values for account routing scheme and address.',
    'OBP-30074': 'Bank Account not found. Please specify a valid value for iban.',
    'OBP-30076': 'Bank Account not found. Please specify a valid value for ACCOUNT_ID.',
  }).map(([code, text]) => [foldValue(code), fold(text)]),
);
/** Codes of duplicates: the bank has the payment already, and may have executed it. */
export const duplicateCodes = setOf('AM05 DUPL');
/** Whether a word says that the payment is a duplicate. */
const isDuplicateWord = (word: string): boolean =>
  duplicateCodes.has(fold(word)) || /^(?:already|duplicat.*)$/.test(fold(word));
/** Names of HTTP's statuses: they say that the request is wrong, and not whether the payment was executed. */
const neutralTexts =
  setOf(`error bad_request payment_required method_not_allowed payload_too_large content_too_large
  request_entity_too_large unsupported_media_type unprocessable_entity unprocessable_content`);

const withoutFillers = (text: string): string =>
  text.replaceAll(/[_-]/g, ' ').replaceAll(/\b(?:a|an|the|is|are|has been|have been)\b/gi, '');

/** The maximum length of a text that may be a reason. Longer texts are not compared with the phrases. */
const maxText = 1000;

/**
 * The meaning of a text or a code in a refusal. `taught`: the operator lists this text. `neutral`: the text says only that the
 * request failed.
 */
export type Reason = 'taught' | 'reason' | 'neutral' | 'unknown';

export const isReason = (reason: Reason): boolean => reason === 'taught' || reason === 'reason';

const isStandardCode = (code: string): boolean => codeTexts.has(foldValue(code));

export function readCode(code: string, words: BankWords): Reason {
  const taught = taughtMeaning(code, words);
  if (taught !== undefined) return taught === 'rejected' ? 'taught' : 'unknown';
  return isStandardCode(code) || knownPhrases.has(foldValue(code)) ? 'reason' : 'unknown';
}

/** The beginning of a text, which may be a code as in `AM04: InsufficientFunds`, and the rest of the text. */
function splitAtCode(text: string): { readonly head: string; readonly rest: string } {
  const [, head = '', rest = ''] = /^[.:;,\s]*([^.:;,]+)[.:;,]?(.*)$/s.exec(text) ?? [];
  return { head, rest };
}

/**
 * A text is a reason if each of its clauses is one. It is also a reason if it is the text that the standard defines for a code. The
 * code is one of `codes`, which stand beside the text, or is at its beginning, as in
 * `OBP-30003: Account not found. Please specify a valid value for ACCOUNT_ID.`
 */
export function readText(text: string, words: BankWords, codes: readonly string[] = []): Reason {
  const taught = taughtMeaning(text, words);
  if (taught !== undefined) return taught === 'rejected' ? 'reason' : 'unknown';
  if (text.length > maxText) return 'unknown';
  if (text.trim() === '' || neutralTexts.has(fold(text))) return 'neutral';
  const { head, rest } = splitAtCode(text);
  const isCoded = isStandardCode(head);
  if (isCoded && rest.trim() === '') return 'reason';
  const isOfCode = (code: string, said: string) => codeTexts.get(foldValue(code)) === fold(said);
  if (codes.some((code) => isOfCode(code, text)) || (isCoded && isOfCode(head, rest))) return 'reason';
  const clauses = clausesOf(isCoded ? rest : text);
  const isKnown = (clause: string) =>
    (taughtMeaning(clause, words) ??
      (knownPhrases.has(fold(withoutFillers(clause))) ? 'rejected' : undefined)) === 'rejected';
  return clauses.length > 0 && clauses.every(isKnown) ? 'reason' : 'unknown';
}
