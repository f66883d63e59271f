import { z } from 'zod';
import { validateId } from '../bank/ids.ts';
import type { ViewIds } from '../loaders/loaders.ts';

/** The first parts of the key of an account seen through a view, and of the records below it: bank, account, view. */
export const viewKey = [z.string(), z.string(), z.string()] as const;

/** Errors: BAD_USER_INPUT if one of them is not a valid id. */
export const validateViewIds = (bankId: string, accountId: string, viewId: string): ViewIds => ({
  bankId: validateId('bankId', bankId),
  accountId: validateId('accountId', accountId),
  viewId: validateId('viewId', viewId),
});

/** The argument of links to accounts that may be read through another view. */
export interface ViewArgument {
  readonly viewId?: string | null | undefined;
}
