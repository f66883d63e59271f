import { badUserInput } from '../errors.ts';
import { notGlobalId } from './global-id.ts';

/** Inputs use the field names of the output types. Inputs that had other names before accept both. */

type Optional<T> = T | null | undefined;

/** The deprecation reason of the old names. */
export const renamedTo = (name: string) => `Renamed to \`${name}\`, as it is called where it is read.`;

/** The value under either name; null counts as absent. Errors: BAD_USER_INPUT if both are given. */
export function underEitherName<T>(
  [name, value]: readonly [string, Optional<T>],
  [oldName, oldValue]: readonly [string, Optional<T>],
): T | undefined {
  if (value != null && oldValue != null)
    throw badUserInput(`${name} and ${oldName} are the same field: give ${name} alone.`);
  return value ?? oldValue ?? undefined;
}

/** An id under either name. Errors: BAD_USER_INPUT, also for a global id. */
export const idUnderEitherName = (
  name: string,
  id: Optional<string>,
  oldName: string,
  oldId: Optional<string>,
) =>
  underEitherName(
    [name, id == null ? id : notGlobalId(name, id)],
    [oldName, oldId == null ? oldId : notGlobalId(oldName, oldId)],
  );

/** The single entry of `bankIds`, since REST takes one bank. Errors: BAD_USER_INPUT unless there is exactly one. */
export function onlyBankId(bankIds: Optional<readonly string[]>): Optional<string> {
  if (bankIds == null) return bankIds;
  const [bankId, ...others] = bankIds;
  if (bankId === undefined || others.length > 0)
    throw badUserInput("bankIds takes one bank here, since the bank's PUT does.");
  return notGlobalId('bankIds', bankId);
}

/** Ids of other records. Errors: BAD_USER_INPUT if one is a global id. */
export const restIds = <T extends Optional<readonly string[]>>(name: string, ids: T): T => {
  for (const id of ids ?? []) notGlobalId(name, id);
  return ids;
};
