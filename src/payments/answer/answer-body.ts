import { isUtf8 } from 'node:buffer';
import {
  type HttpResponse,
  isSaidToBeEmpty,
  isSaidToEnd,
  partialContent,
  textOf,
} from '../../bank/http-message.ts';
import { whatTakesTooLong } from '../../bank/json-limits.ts';
import { parseExactJson } from '../../contract/exact-json.ts';
import { fold } from './payment-words.ts';

/** The body of an answer to a payment. */
export interface AnswerBody {
  /** `repeated`: JSON in which a name occurs twice in one object. `unreadable`: not read, or neither JSON nor a short text. */
  readonly kind: 'empty' | 'json' | 'text' | 'repeated' | 'unreadable';
  /** The JSON value with exact amounts, or a short plain text; undefined if it is neither. */
  readonly value: unknown;
}

const without = (kind: AnswerBody['kind']): AnswerBody => ({ kind, value: undefined });

const noContent = 204;
/** The maximum length of a text that may be a status, in bytes. */
const maxStatus = 64;

/**
 * Reads a body. A success that may be incomplete is unreadable: a 206; an empty body, unless the headers say
 * that it is empty; a text, unless the headers say where it ends. JSON objects and lists show their own end.
 */
export function readBody({
  status,
  headers,
  body,
}: Pick<HttpResponse, 'status' | 'headers' | 'body'>): AnswerBody {
  const isEmpty = body.length === 0;
  if (status === partialContent) return without('unreadable');
  if (isEmpty && status !== noContent && !isSaidToBeEmpty(headers)) return without('unreadable');
  if (!isUtf8(body) || whatTakesTooLong(body) !== null) return without('unreadable');
  const text = textOf({ body }).trim();
  const isCut = !isEmpty && !isSaidToEnd(headers);
  if (text === '') return without(isCut ? 'unreadable' : 'empty');
  if (isCut && !/^[[{]/.test(text)) return without('unreadable');
  try {
    const value = parseExactJson(text);
    const wrong = checkNames(text);
    return wrong === null ? { kind: 'json', value } : without(wrong);
  } catch {
    // A status is plain words: a text that begins like JSON or markup is a truncated document.
    const isStatus = Buffer.byteLength(text) <= maxStatus && !/^[[{"<]|[^\P{Cc}\s]/u.test(text);
    return isStatus ? { kind: 'text', value: text } : without('unreadable');
  }
}

const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;
/** The maximum depth of an answer. No record is deeper. */
const maxLevels = 64;

/**
 * Why valid JSON is not read: it is too deep, or an object has the same name twice, in any spelling. JSON.parse would
 * keep the last member, and nobody knows which of the two is right.
 */
function checkNames(json: string): 'unreadable' | 'repeated' | null {
  const open: Set<string>[] = [];
  let text = '';
  for (const [token] of json.matchAll(jsonToken)) {
    if (token === '{' || token === '[') {
      if (open.push(new Set()) > maxLevels) return 'unreadable';
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const names = open.at(-1);
      const name = fold(String(JSON.parse(text)));
      if (names?.has(name)) return 'repeated';
      names?.add(name);
    } else text = token;
  }
  return null;
}
