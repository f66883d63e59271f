import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { matches } from '../list-query.ts';

/** All branches. */
export const getBranches: Handler<'getBranches'> = ({ database }) => database.branches.all();

/** The branches that match: see list-query.ts. */
export const postBranches: Handler<'postBranches'> = ({ body, database }) =>
  database.branches.all().filter((branch) => matches(branch, body));

/**
 * Creates or replaces a branch, whoever calls.
 * Errors: HttpError 400 where the body's id is not the path's.
 */
export const putBranchID: Handler<'putBranchID'> = ({ ids, body, database }) => {
  if ((body.id ?? ids.BRANCH_ID) !== ids.BRANCH_ID) throw new HttpError(400, 'id: is not the id of the path');
  const branch = { ...body, id: ids.BRANCH_ID };
  database.branches.put(ids.BRANCH_ID, branch);
  return branch;
};
