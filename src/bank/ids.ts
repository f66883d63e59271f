import { BankqlError, badUserInput } from '../errors.ts';

const maxLength = 128;

/** Most ids are plain ASCII and need neither the checks below nor an encoding. */
export const plainId = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,127}$/;

/** Separators, and characters that a proxy or a router might take for one after decoding. */
const forbidden = /[/\\%?#;\p{Cc}\p{Cf}]/u;

/** Why a text cannot be an id; null for a valid id. */
export function idProblem(id: string): string | null {
  if (id === '') return 'it is empty';
  if (id.length > 2 * maxLength || [...id].length > maxLength)
    return `it is longer than ${maxLength} characters`;
  if (!id.isWellFormed()) return 'it is not well-formed Unicode';
  if (id === '.' || id === '..') return 'it is a dot segment';
  if (id.trim() !== id) return 'it has outer white space';
  if (forbidden.test(id)) return 'it holds one of / \\ % ? # ; or a control or format character';
  if (id.normalize('NFKC') !== id) return 'it changes under the Unicode normalisation NFKC';
  return null;
}

/**
 * Checks that an id can be one segment of a path unchanged, and returns it. `name` is the caller's name for the id, `argument`
 * the path of the argument, if the id is one.
 * Errors: BAD_USER_INPUT, which says what is wrong with the id, but does not show it.
 */
export function validateId(name: string, id: string, argument?: string): string {
  if (plainId.test(id)) return id;
  const wrong = idProblem(id);
  if (wrong !== null)
    throw badUserInput(
      `${name} cannot be used as an id: ${wrong}. Give the id as the bank has it.`,
      argument,
    );
  return id;
}

/**
 * Checks an id from the bank before it is used in a call.
 * Errors: BANK_BAD_RESPONSE, which says what is wrong with the id, but does not show it.
 */
export function validateBankId(name: string, id: string): string {
  const wrong = plainId.test(id) ? null : idProblem(id);
  if (wrong === null) return id;
  throw new BankqlError('BANK_BAD_RESPONSE', `The bank names ${name} that cannot be asked for: ${wrong}.`);
}

/** Whether the bank's record has another id than the requested one. False for a record without an id. */
export const isOtherId = (id: unknown, asked: unknown): id is string =>
  typeof id === 'string' && id !== '' && id !== asked;

/** A bank's code without the ending XXX, which stands for the head office in a BIC of eleven characters. */
export const withoutHeadOffice = (code: string): string => code.replace(/(?<=.)XXX$/i, '');
