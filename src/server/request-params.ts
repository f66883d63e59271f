import { RequestError } from '../engine/request-error.ts';
import { queryOf } from './auth/incoming-request.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * What the body of a POST asks for, as it stands or not at all: JSON.parse takes of two members with one name the last,
 * and most decoders take bytes that are no UTF-8 for U+FFFD.
 * Errors: BAD_USER_INPUT.
 */
export function parseBodyParams(bytes: Uint8Array): unknown {
  let problem: string | null;
  let body: unknown;
  try {
    const text = utf8.decode(bytes);
    problem = findProblem(text);
    if (problem === null) body = JSON.parse(text);
  } catch {
    problem = 'is not JSON in UTF-8';
  }
  if (problem !== null) throw new RequestError('BAD_USER_INPUT', `The body ${problem}.`);
  return body;
}

/** What the URL of a GET asks for. Errors: BAD_USER_INPUT. */
export function parseUrlParams(url: string): unknown {
  const query = queryOf(url);
  const text = (name: string) => query.get(name) ?? undefined;
  const json = (name: string): unknown => {
    const given = text(name);
    try {
      return given === undefined || given === '' ? undefined : JSON.parse(given);
    } catch {
      throw new RequestError('BAD_USER_INPUT', `The URL's "${name}" is not JSON.`);
    }
  };
  return {
    query: text('query'),
    operationName: text('operationName') || undefined,
    documentId: text('documentId'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}

/** No input of the schema is half as deep. */
const maxDepth = 32;
/** Texts, objects and lists in a body: more of them cost time, and no operation needs them. */
const maxParts = 4000;

/**
 * What JSON.parse would let pass: JSON that is too deep or has too many parts, or two members of one name. It looks at
 * brackets and texts alone: whatever else is wrong, JSON.parse finds.
 */
function findProblem(text: string): string | null {
  /** Of each object that is open the names so far; null for a list. */
  const open: (Set<string> | null)[] = [];
  let parts = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        open.push(new Set());
        break;
      case '[':
        open.push(null);
        break;
      case '}':
      case ']':
        open.pop();
        continue;
      case '"': {
        const end = endOfText(text, at);
        const names = open.at(-1);
        if (names && isBeforeColon(text, end + 1)) {
          const written = text.slice(at, end + 1);
          const name: string = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1);
          if (names.has(name)) return 'names a member twice in one object';
          names.add(name);
        }
        at = end;
        break;
      }
      default:
        continue;
    }
    if (++parts > maxParts) return `has more than ${maxParts} parts`;
    if (open.length > maxDepth) return `is more than ${maxDepth} levels deep`;
  }
  return null;
}

/** Where the text that begins at a quote has its other one; the end of all, where it has none. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return text[at] === ':';
}
