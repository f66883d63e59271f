import { hash } from 'node:crypto';
import { requestIdNames } from './gateway-answers.ts';
import { comparableTextOf, type HttpResponse, isSaidToEnd } from './http-message.ts';

type Answered = Pick<HttpResponse, 'status' | 'headers' | 'body'>;

/** The maximum number of refusals that are kept, and the maximum length of the body of one, in bytes. */
const maxRefusals = 200;
const maxLength = 16_384;

/**
 * Remembers the 401 answers to reads in this process. A read executes nothing, so if a payment gets the same
 * answer, the bank refused the payment's caller, whatever the answer's language. Two answers are the same if
 * they differ only in digits, times and request ids.
 */
export class RefusedReads {
  readonly #shapes = new Set<string>();

  note(response: Answered): void {
    const shape = shapeOf(response);
    if (shape === null || this.#shapes.has(shape)) return;
    const [oldest] = this.#shapes;
    if (this.#shapes.size >= maxRefusals && oldest !== undefined) this.#shapes.delete(oldest);
    this.#shapes.add(shape);
  }

  has(response: Answered): boolean {
    const shape = shapeOf(response);
    return shape !== null && this.#shapes.has(shape);
  }
}

/** The parts in which two answers may differ and still count as the same. */
const changing = [
  new RegExp(String.raw`(?<="${requestIdNames}"\s*:\s*)"[\w.:/+=-]{1,128}"`, 'gi'),
  /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi,
  /\b(?=[a-f]*\d)[\da-f]{16,64}\b/gi,
  /\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4}\b/g,
  /\d+(?:[.:,]\d+)*/g,
];

/**
 * Words that ask for a confirmation. After such a 401, a bank may keep the payment and execute it once it is confirmed, so the
 * same 401 to a read proves nothing.
 */
const asksToConfirm = /challenge|\bsca(?![a-z])|strong.?customer.?authentication|step.?up|\b(?:otp|tan)\b/i;

/** A hash of a 401's content. Null if the answer is not a 401, asks for a confirmation, has a Location, or cannot be read exactly. */
function shapeOf(response: Answered): string | null {
  const { status, headers, body } = response;
  if (status !== 401 || headers.location !== undefined || headers['content-encoding'] !== undefined)
    return null;
  const text = comparableTextOf(response, maxLength);
  if (text === null || (body.length > 0 && !isSaidToEnd(headers))) return null;
  const challenge = [headers['www-authenticate'] ?? ''].flat().join();
  const said = `${challenge}\n${text}`;
  if (asksToConfirm.test(said)) return null;
  return hash(
    'sha256',
    changing.reduce((text, pattern) => text.replaceAll(pattern, '#'), said),
  );
}
