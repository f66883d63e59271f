import { type HttpResponse, textOf } from './http/http-message.ts';
import { redact } from './redact.ts';
import { errorWords } from './response-content.ts';
import { whatTakesTooLong } from './response-limits.ts';

/** How much of the bank's text an error shows, in characters. */
const maxTextLength = 500;

/** The body of an error: its words, and the bank's code for its reason, if it has one. */
interface ErrorBody {
  readonly words: string;
  readonly code: string | null;
}

const nothing: ErrorBody = { words: '', code: null };

/** Bodies that were read: an attempt is reported and becomes an error, and both show what it says. */
const bodies = new WeakMap<HttpResponse, ErrorBody>();

function bodyOf(response: HttpResponse): ErrorBody {
  let body = bodies.get(response);
  if (body === undefined) {
    body = whatTakesTooLong(response.body) === null ? read(textOf(response)) : nothing;
    bodies.set(response, body);
  }
  return body;
}

function read(text: string): ErrorBody {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Not JSON: markup is of no use to anybody; plain text is.
    return { words: text.trimStart().startsWith('<') ? '' : text, code: null };
  }
  if (typeof json === 'string') return { words: json, code: null };
  if (typeof json !== 'object' || json === null) return { words: text, code: null };
  return { words: errorWords(json), code: codeIn(json) };
}

/**
 * What the bank said in an error's body: its message where it is JSON, else the text; bounded, on one line, and
 * without `secrets`, since a bank may echo the request. A secret within one of the `known` texts, which the reader
 * sent, is shown. Empty where the body would take too long to parse.
 */
export function bankText(
  response: HttpResponse,
  secrets: readonly string[],
  known: readonly string[] = [],
): string {
  // Much more than could be shown is not looked at.
  return redact(bodyOf(response).words, secrets, 20 * maxTextLength, known)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxTextLength)
    .replace(/\p{Cs}$/u, '');
}

/** The bank's own code for the error's reason; null if its JSON has none in one word, or if that contains a secret. */
export function bankCode(response: HttpResponse, secrets: readonly string[]): string | null {
  const { code } = bodyOf(response);
  return code === null || secrets.some((secret) => code.includes(secret)) ? null : code;
}

/** Common names of the member with the code; an `error` may be the code itself, if it is one word that looks like one. */
const codeName = /^(error_?)?code$/i;
const errorName = /^(error|errors|fault)$/i;
const plainCode = /^[\w.:-]{1,64}$/;
const looksLikeCode = /[A-Z_.:]/;
/** As in `{"errors":[{"error":{"code":…}}]}`. */
const maxDepth = 3;

function codeIn(json: unknown, depth = 0): string | null {
  if (typeof json !== 'object' || json === null || depth > maxDepth) return null;
  const members = Object.entries(json);
  for (const [name, value] of members) {
    const code = typeof value === 'number' ? String(value) : value;
    if (codeName.test(name) && typeof code === 'string' && plainCode.test(code)) return code;
  }
  for (const [name, value] of members) {
    if (!errorName.test(name)) continue;
    const [error] = Array.isArray(value) ? value : [value];
    const isCode = typeof error === 'string' && plainCode.test(error) && looksLikeCode.test(error);
    const code = isCode ? error : codeIn(error, depth + 1);
    if (code !== null) return code;
  }
  return null;
}
