import type { Operation } from '../contract/operation.ts';
import { isObject } from '../is-object.ts';

/**
 * What an answer says of a payment.
 * - `done`, `rejected`: the bank says so, in a word that is known.
 * - `accepted`: the bank has the payment, and does not say that it executed it.
 * - `doubtful`: something in the answer speaks of a failure.
 * - `unclear`: it says something in words that nobody knows.
 * - `silent`: nothing in it is about the outcome.
 */
export type Outcome = Meaning | 'doubtful' | 'unclear' | 'silent';
type Meaning = 'done' | 'accepted' | 'rejected';

/** The default statuses of a refusal. All but 401 count only with the bank's JSON as the body. */
export const defaultRejectedStatuses: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 413, 415, 422, 429,
]);

/** Case, white space, `_` and `-` make no difference: `In progress` is IN_PROGRESS. */
export function normalized(text: string): string {
  return text.replaceAll(/[\s_-]+/g, '').toLowerCase();
}

const entriesOf = <M extends Meaning>(meaning: M, words: readonly string[]) =>
  words.map((word) => [normalized(word), meaning] as const);

/** The bank's own words, normalized. They go before those below. */
export type BankWords = ReadonlyMap<string, 'done' | 'rejected'>;

/** Words as the operator lists them in BANK_PAYMENT_DONE and BANK_PAYMENT_REJECTED_WORDS. */
export const bankWordsOf = (done: readonly string[], rejected: readonly string[]): BankWords =>
  new Map([...entriesOf('done', done), ...entriesOf('rejected', rejected)]);

export const noBankWords: BankWords = new Map();

/** The words of docs/payment-operations.md: plain ones, ISO 20022 codes for a payment's status, and the long names of these. */
const words = {
  done: `ok success successful succeeded accepted approved booked complete completed confirmed done executed processed settled
    ACSC AcceptedSettlementCompleted ACCC AcceptedCreditSettlementCompleted ACSP AcceptedSettlementInProcess`,
  accepted: `pending received processing in-process in-progress submitted queued scheduled initiated
    RCVD PDNG ACTC AcceptedTechnicalValidation ACCP AcceptedCustomerProfile ACFC AcceptedFundsChecked
    ACWC AcceptedWithChange ACWP AcceptedWithoutPosting PATC PartiallyAcceptedTechnicalCorrect`,
  rejected: 'failed rejected declined cancelled canceled RJCT CANC',
} as const;
const standardWords: ReadonlyMap<string, Meaning> = new Map(
  (['done', 'accepted', 'rejected'] as const).flatMap((meaning) =>
    entriesOf<Meaning>(meaning, words[meaning].split(/\s+/)),
  ),
);
/** This operation makes a request, which waits for its customer or for the bank's staff: that is its success. */
const requestWords = new Map([
  ...standardWords,
  ...entriesOf('done', ['initiated', 'NEXT_CHALLENGE_PENDING']),
]);

/** Part of a word or text that may mean a failure, such as PaymentFailed; NO_ERROR is taken for one too. */
const mentionOfFailure = /fail|reject|declin|cancel|error|denied|refus|insufficient|unavailable/i;

/** Members that state the outcome of a payment, and others that end like them. */
const statusName = /^((transaction|payment|transfer|request|order)[_-]?)?(status|state|result|outcome)$/i;
const statusLikeName = /(status|state|result|outcome)$/i;
/** Members in which a status that is an object has its word or its code: `{"status":{"code":"FAILED"}}`. */
const statusPartName = /^(code|value|name|id|type|status|state|result|message|text|reason|description)$/i;
const codeName = /^((error|fault|status|http|http[_-]?status|return|response|result|reason)[_-]?)?code$/i;
const remarkName = /^(message|msg|reason|details?|title)$/i;
const errorName =
  /^(errors?|faults?|exception|problem|(error|fault|failure|reject(ion)?|decline)[_-]?(code|message|text|reason|description|details?))$/i;
const successName =
  /^(is)?(ok|success|successful|succeeded|accepted|approved|authori[sz]ed|booked|completed?|confirmed|done|executed|paid|processed|settled|valid)$/i;
const pendingName = /^(is)?(pending|processing|queued|scheduled)$/i;
const failureName = /^(is)?(failed|rejected|declined|cancell?ed|denied|refused|blocked|expired)$/i;
/** A receipt; the `id` of a refusal may be that of the refusal. */
const receiptName = /^(transaction|payment|transfer)[_-]?ids?$/i;
const isId = (name: string) => /^id$/i.test(name) || receiptName.test(name);

const isYes = (value: unknown) => /^(true|yes|y|1)$/i.test(wordIn(value));
const isNo = (value: unknown) => /^(false|no|n|0)$/i.test(wordIn(value));

/** A value as a word, or the only entry of a list. Longer lists are no words; `membersOf` visits their entries. */
function wordIn(value: unknown): string {
  const only: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return typeof only === 'object' ? '' : String(only);
}

/** How the words of one operation's answers are read. */
export interface Vocabulary {
  readonly operation: Operation;
  /** The bank's own words: BANK_PAYMENT_DONE and BANK_PAYMENT_REJECTED_WORDS. */
  readonly bankWords: BankWords;
  /** The payment. An answer may repeat its description, which is not the bank's words. */
  readonly sent: { readonly description: string | null };
}

/** What a status says, be it a member of an answer or the whole of it. */
export function meaningOf(text: string, { operation, bankWords }: Vocabulary): Exclude<Outcome, 'silent'> {
  const word = normalized(text);
  const table = operation.envelope === null ? standardWords : requestWords;
  return bankWords.get(word) ?? table.get(word) ?? (mentionOfFailure.test(text) ? 'doubtful' : 'unclear');
}

/** The longest text that is searched for words, in characters: nobody says more of an outcome, and the search takes time. */
const maxWords = 10_000;

/** What one member says: a stated outcome, or another sign. */
type Sign = Exclude<Outcome, 'silent'> | 'success' | 'id' | 'remark' | null;

/** `isOwn`: the member is the record's own, not one of an object inside. */
function signOf(name: string, value: unknown, isOwn: boolean, vocabulary: Vocabulary): Sign {
  if (errorName.test(name)) return saysNothing(value) ? null : 'doubtful';
  if (failureName.test(name)) return isYes(value) ? 'doubtful' : null;
  if (successName.test(name)) return isNo(value) ? 'doubtful' : isYes(value) ? 'success' : null;
  if (pendingName.test(name)) return isYes(value) ? 'accepted' : null;
  const isStatus = statusLikeName.test(name) || name === vocabulary.operation.envelope;
  if (isStatus && value === false) return 'doubtful';
  if (isOwn && statusName.test(name) && isObject(value) && !saysNothing(value))
    return Object.keys(value).some((part) => statusPartName.test(part)) ? null : 'unclear';
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '') return null;
  const isCode = codeName.test(name);
  if (!isStatus && !isCode && !remarkName.test(name))
    return isOwn && isId(name) && !saysNothing(value) ? 'id' : null;
  if (typeof value === 'string' && value.length > maxWords) return 'doubtful';
  const text = String(value).trim();
  const meaning = meaningOf(text, vocabulary);
  const http = httpMeaning(Number(text));
  if (isStatus) {
    if (typeof value === 'number' && http !== null) return http === 'failure' ? 'doubtful' : null;
    // A member whose name only ends like a status, or of an object inside, may be about something else.
    return meaning === 'rejected' && !(isOwn && statusName.test(name)) ? 'doubtful' : meaning;
  }
  if (isOwn && isStated(text, meaning, vocabulary)) return meaning;
  if (!isCode) return mentionOfFailure.test(text) ? 'doubtful' : isOwn ? 'remark' : null;
  if (http === 'success' || /^0+$/.test(text)) return null;
  return isOwn || http === 'failure' ? 'doubtful' : null;
}

/** Whether a code or a message states an outcome: a word of success, or a refusal in a word that the operator gave. */
const isStated = (text: string, meaning: Outcome, { bankWords }: Vocabulary): boolean =>
  meaning === 'done' || bankWords.has(normalized(text));

/**
 * All members of a record and of the objects inside; an entry of a list, and a part of a status, has the outer name.
 * `isOwn`: it is the record's own, not one of an object inside.
 */
function* membersOf(record: object) {
  // A work list instead of recursion: the bank decides how deeply the value is nested.
  const objects: { readonly object: object; readonly name: string }[] = [{ object: record, name: '' }];
  for (const { object, name: outer } of objects) {
    const isList = Array.isArray(object);
    const isStatus = statusLikeName.test(outer);
    for (const [key, value] of Object.entries(object)) {
      const name = isList || (isStatus && statusPartName.test(key)) ? outer : key;
      yield { name, value, isOwn: object === record };
      if (typeof value === 'object' && value !== null) objects.push({ object: value, name });
    }
  }
}

interface Signs {
  readonly own: ReadonlySet<Sign>;
  readonly inside: ReadonlySet<Sign>;
}

function signsOf(record: object, vocabulary: Vocabulary): Signs {
  const own = new Set<Sign>();
  const inside = new Set<Sign>();
  for (const { name, value, isOwn } of membersOf(record))
    (isOwn ? own : inside).add(signOf(name, value, isOwn, vocabulary));
  return { own, inside };
}

const hasSuccess = ({ own, inside }: Signs) => own.has('done') || own.has('success') || inside.has('done');

/** What may have happened to a payment, and what may be happening to it. */
const happened =
  'accept|approv|book|captur|charg|complet|confirm|credit|debit|deduct|done|execut|exist|made|paid|processed|receiv|sent|settl|submit|succe|transferr';
const happening = 'progress|processed|processing|execut|pending|submit|under[ _-]?way|settl';
const gap = String.raw`[\s_-]*`;
/**
 * Texts that refuse a repetition: of this very request, which something on the way to the bank may have sent twice, the
 * first time with success; and texts about a payment that was executed, is being executed, or may have been. The end of a word
 * is bounded: otherwise the search in one long word would take a time that grows with the square of its length.
 */
const mentionsOfExecution = [
  'duplicat',
  String.raw`\breplay`,
  `(already|must${gap}be|non|not)${gap}unique|unique${gap}(constraint|violat)`,
  String.raw`\bre${gap}(submi|transmi)`,
  String.raw`\b(reference|nonce|idempotency${gap}key|(correlation|message|payment|request|track|transaction|transfer)${gap}(id|key|number|reference))${gap}((has|is|was)${gap})?(been${gap})?(already|previously)`,
  `(already|previously)${gap}((has|is|was)${gap})?(been${gap})?(${happened}|handled)`,
  String.raw`\b(double|identical|repeat|repeated|same|similar)${gap}(booking|order|payment|posting|request|transaction|transfer)`,
  `(payment|request|transaction|transfer)${gap}(exists|repeated)`,
  `(received|seen)${gap}(before|twice)|went${gap}through`,
  `(awaiting|waiting${gap}for)${gap}(approval|authori|confirmation|signature)`,
  `idempotency${gap}(key${gap})?(conflict|reus)`,
  // Reasons of ISO 20022 for duplicates.
  `^${gap}(AM05|DUPL|DU0[1-5])${gap}$`,
  String.raw`(${happened})\w{0,6}${gap}(already|before\b|previously|earlier)`,
  `(already|being|currently|still)${gap}((being|in)${gap})?(${happening})`,
  `(may|might)${gap}(already${gap})?have${gap}been`,
  `(payment|transaction|transfer|order)${gap}(is|remains)${gap}(awaiting|in${gap}process|in${gap}progress|processing|queued|scheduled|waiting)`,
  `(payment|transaction|transfer|order)${gap}((is|remains)${gap})?pending`,
  // A timeout of anything but the customer's session or login.
  String.raw`tim(e[ds]?|ing)${gap}out(?<!(challenge|code|consent|login|otp|session|token)[\W_]*((has|is|was)[\W_]*)?time[ds]?${gap}out)`,
  `deadline${gap}exceeded|econnreset|hang${gap}up|connection${gap}(was${gap})?(closed|lost|reset)`,
  `no${gap}(answer|response)${gap}from`,
  `(backend|bank|banking|core|host|server|service|system)${gap}(did|does)${gap}not${gap}(answer|respond)`,
  `(internal|technical|unexpected|unhandled|unknown|unspecified)${gap}(server${gap})?(error|exception|failure)`,
  `(execution|outcome|result|status)[^.,;]{0,40}(uncertain|unknown)`,
].map((source) => new RegExp(source, 'i'));
const statementsOfExecution = new RegExp(
  [
    String.raw`\b(has|have|was|were|partially)${gap}((been|just|now|partly|[a-z]{1,12}ly)${gap}){0,2}(book|captur|carried${gap}out|charged|complet|credited|debit|deduct|execut|moved|paid|posted|processed|settl|succe|transferr|withdrawn)`,
    `(funds|money|payment|transaction|transfer)${gap}(booked|completed|executed|moved|posted|processed|settled)(?![a-z])`,
    String.raw`\bsucceeded\b`,
  ].join('|'),
  'gi',
);
/** After a negation in the same clause, such as `No payment was executed`, a statement means the opposite. */
const negation =
  /(\b(no|not|nothing|never|without)\b|n['’]t\b)((?!\b(although|because|but|since|though|while)\b)[^.,:;!?])*$/i;
const longestClause = 100;

const speaksOfExecution = (text: string): boolean =>
  mentionsOfExecution.some((mention) => mention.test(text)) ||
  text
    .matchAll(statementsOfExecution)
    .some(({ index }) => !negation.test(text.slice(Math.max(0, index - longestClause), index)));

/**
 * Whether a refusal may be about a payment that was executed nevertheless: it contains a sign of success or of a pending
 * payment, mentions an execution, or leaves it in doubt without a reason that excludes one.
 */
export function mayBeExecuted(record: object, vocabulary: Vocabulary): boolean {
  const signs = signsOf(record, vocabulary);
  const outcome = outcomeOf(signs);
  if (outcome === 'done' || outcome === 'accepted') return true;
  if (hasSuccess(signs) || signs.own.has('accepted') || signs.inside.has('accepted')) return true;
  if (mentionsExecution(record, vocabulary)) return true;
  if (signs.own.has('rejected') || hasText(record, vocabulary, (text) => excludingReason.test(text)))
    return false;
  return (
    hasText(record, vocabulary, (text, name) => leavesDoubt(name, text)) ||
    membersOf(record).some(({ name, value }) => receiptName.test(name) && !saysNothing(value))
  );
}

/** Whether a refusal mentions an execution or a repetition, in words that the operator has not listed as a refusal. */
export const mentionsExecution = (answer: unknown, vocabulary: Vocabulary): boolean =>
  hasText(answer, vocabulary, speaksOfExecution);

/** Whether a condition holds for a text or number of an answer. The operator's words for a refusal, and what was sent, do not count. */
function hasText(
  answer: unknown,
  { bankWords, sent }: Vocabulary,
  holds: (text: string, name: string) => boolean,
): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  return membersOf(answer).some(({ name, value }) => {
    if ((typeof value !== 'string' && typeof value !== 'number') || value === sent.description) return false;
    const text = String(value);
    return bankWords.get(normalized(text)) !== 'rejected' && holds(text, name);
  });
}

/** A reason for which the bank executes nothing. */
const excludingReason = new RegExp(
  `insufficient|declin|reject|refus|denied|exceed|limit|invalid|block|closed|expire|unauthori|forbid|not${gap}(allowed|authori|enough|found|permitted|sufficient|supported|valid)|too${gap}many`,
  'i',
);
const doubt = new RegExp(`^${gap}(in${gap}doubt|indeterminate|uncertain|undetermined|unknown)${gap}$`, 'i');
const leavesDoubt = (name: string, text: string): boolean =>
  doubt.test(text) || (/^\s*5\d\d\s*$/.test(text) && (codeName.test(name) || statusName.test(name)));

/** What one record of an answer says, with everything inside it. */
export function readOutcome(record: unknown, vocabulary: Vocabulary): Outcome {
  if (!isObject(record))
    return typeof record === 'string' && mentionOfFailure.test(record) ? 'doubtful' : 'unclear';
  return outcomeOf(signsOf(record, vocabulary));
}

function outcomeOf(signs: Signs): Outcome {
  const { own, inside } = signs;
  const claimsSuccess = hasSuccess(signs);
  if (own.has('rejected') && !claimsSuccess && !own.has('accepted') && !own.has('unclear')) return 'rejected';
  if (own.has('rejected') || own.has('doubtful') || inside.has('doubtful')) return 'doubtful';
  const isStated = (['done', 'accepted', 'unclear'] as const).some((outcome) => own.has(outcome));
  const stating = isStated ? own : inside;
  if (stating.has('unclear')) return 'unclear';
  if (stating.has('accepted')) return 'accepted';
  if (stating.has('done') || own.has('success')) return 'done';
  if (own.has('remark')) return 'unclear';
  return own.has('id') ? 'done' : 'silent';
}

/** The meaning of a number that is an HTTP status, which frameworks add to their answers; null for other numbers. */
const httpMeaning = (value: number): 'success' | 'failure' | null => {
  if (!Number.isInteger(value) || value < 200 || value > 599) return null;
  return value < 300 ? 'success' : 'failure';
};

const saysNothing = (value: unknown): boolean =>
  typeof value === 'object'
    ? value === null || Object.keys(value).length === 0
    : value === undefined || /^(none|null|false|0*)$/i.test(String(value).trim());
