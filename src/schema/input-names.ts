import { badUserInput } from '../errors.ts';
import { notGlobalId } from './global-id.ts';

/** Inputs call things what the types that are read call them. Where an input had another name before, it takes both. */

type Optional<T> = T | null | undefined;

/** Why a field is deprecated. */
export const renamedTo = (name: string) => `Renamed to \`${name}\`, as it is called where it is read.`;

/** The value under either name; a null is a field that is left out. Errors: BAD_USER_INPUT where both are given. */
export function underEitherName<T>(
  [name, value]: readonly [string, Optional<T>],
  [oldName, oldValue]: readonly [string, Optional<T>],
): T | undefined {
  if (value != null && oldValue != null)
    throw badUserInput(`${name} and ${oldName} are the same field: give ${name} alone.`);
  return value ?? oldValue ?? undefined;
}

/** An id of a record under either name. Errors: BAD_USER_INPUT, also where it is a global id. */
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

/** The one entry of `bankIds`, where REST takes one bank. Errors: BAD_USER_INPUT where there is not one. */
export function onlyBankId(bankIds: Optional<readonly string[]>): Optional<string> {
  if (bankIds == null) return bankIds;
  const [bankId, ...others] = bankIds;
  if (bankId === undefined || others.length > 0)
    throw badUserInput("bankIds takes one bank here, since the bank's PUT does.");
  return notGlobalId('bankIds', bankId);
}

/** Ids of other records. Errors: BAD_USER_INPUT where one is a global id. */
export const restIds = <T extends Optional<readonly string[]>>(name: string, ids: T): T => {
  for (const id of ids ?? []) notGlobalId(name, id);
  return ids;
};
