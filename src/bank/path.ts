import { BankqlError, badUserInput } from './error.ts';

const longest = 128;

/** Most ids are plain ASCII and need neither the checks below nor an encoding. */
const plain = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,127}$/;

/** Separators, and whatever a proxy or a router might take for one after decoding. */
const forbidden = /[/\\%?#;\p{Cc}\p{Cf}]/u;

function fault(id: string): string | null {
  if (id === '') return 'it is empty';
  if (id.length > 2 * longest || [...id].length > longest) return `it is longer than ${longest} characters`;
  if (!id.isWellFormed()) return 'it is not well-formed Unicode';
  if (id === '.' || id === '..') return 'it is a dot segment';
  if (id.trim() !== id) return 'it has outer white space';
  if (forbidden.test(id)) return 'it holds one of / \\ % ? # ; or a control or format character';
  if (id.normalize('NFKC') !== id) return 'it changes under the Unicode normalisation NFKC';
  return null;
}

/**
 * An id that can become one segment of a path, as it is.
 * `name` is what the caller knows the id as.
 * Errors: BAD_USER_INPUT, which says what is wrong with it and does not repeat it.
 */
export function checkId(name: string, id: string): string {
  if (plain.test(id)) return id;
  const wrong = fault(id);
  if (wrong !== null) throw badUserInput(`${name} cannot be used as an id: ${wrong}.`);
  return id;
}

/**
 * An id that the bank wrote, which is to be asked for.
 * Errors: BANK_BAD_RESPONSE, which says what is wrong with it and does not repeat it.
 */
export function checkBankId(name: string, id: string): string {
  const wrong = plain.test(id) ? null : fault(id);
  if (wrong === null) return id;
  throw new BankqlError('BANK_BAD_RESPONSE', `The bank names ${name} that cannot be asked for: ${wrong}.`);
}

/** Ids by their names in a path template. */
export type Ids = Readonly<Record<string, string>>;

/** Path templates as what stands between their ids, and the ids' names. */
const templates = new Map<string, readonly { readonly before: string; readonly name: string }[]>();

function partsOf(template: string) {
  let parts = templates.get(template);
  if (parts === undefined) {
    const pieces = template.split(/[{}]/);
    parts = Array.from({ length: (pieces.length - 1) / 2 }, (_, at) => ({
      before: pieces[2 * at] ?? '',
      name: pieces[2 * at + 1] ?? '',
    }));
    templates.set(template, parts);
  }
  return parts;
}

/** The ids that a path template names, in its order. */
export const idsInOrder = (template: string, ids: Ids): string[] =>
  partsOf(template).map(({ name }) => ids[name] ?? '');

/**
 * A path template with its ids in place, each as one percent-encoded segment.
 * Errors: BAD_USER_INPUT, as checkId.
 */
export function fillPath(template: string, ids: Ids): string {
  let path = '';
  for (const { before, name } of partsOf(template)) {
    const id = ids[name] ?? '';
    // What is plain is its own encoding.
    path += before + (plain.test(id) ? id : encodeURIComponent(checkId(name, id)));
  }
  return path + template.slice(template.lastIndexOf('}') + 1);
}
