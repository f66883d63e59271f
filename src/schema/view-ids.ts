import { z } from 'zod';
import { validateId } from '../bank/ids.ts';
import type { ViewIds } from '../loaders/loaders.ts';

/** How the key begins of an account seen through a view, and of what hangs on it: bank, account, view. */
export const viewKey = [z.string(), z.string(), z.string()] as const;

/** Errors: BAD_USER_INPUT where one of them is no id. */
export const validateViewIds = (bankId: string, accountId: string, viewId: string): ViewIds => ({
  bankId: validateId('bankId', bankId),
  accountId: validateId('accountId', accountId),
  viewId: validateId('viewId', viewId),
});
