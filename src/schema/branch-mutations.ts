import type { InputShapeFromFields } from '@pothos/core';
import { branch, getBranches, putBranchID } from '../contract/branch.ts';
import { Branch } from './branch.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Defaults } from './context.ts';
import { toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import {
  bankIdInput,
  changesInput,
  putDescription,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const whichBranch = (t: InputFields) => ({
  bankId: bankIdInput(t),
  branchId: t.id({ required: true, description: "The branch's id at the bank." }),
});

/** Errors: BAD_USER_INPUT. */
const idsOf = (
  { bankId, branchId }: InputShapeFromFields<ReturnType<typeof whichBranch>>,
  defaults: Defaults,
) => ({ bankId: bankIdOr(defaults, bankId), branchId: restId('branchId', branchId) });

const calls = { read: getBranches, write: putBranchID };

builder.relayMutationField(
  'putBranch',
  {
    description: 'The branch to put, and where.',
    inputFields: (t) => ({ ...whichBranch(t), branch: wholeRecordInput(t, branch, putBranchID) }),
  },
  {
    description: putDescription('a branch', 'updateBranch', putBranchID),
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { answer, trackId } = await session.write(
        putBranchID,
        ids,
        toBody(branch, input.branch, 'branch.'),
      );
      return { ids, record: answer, trackId };
    },
  },
  writtenPayload(Branch, calls),
);

builder.relayMutationField(
  'updateBranch',
  {
    description: 'The branch to update, and how.',
    inputFields: (t) => ({ ...whichBranch(t), ...changesInput(t, branch) }),
  },
  {
    description: 'Changes a part of a branch. REST: getBranches, putBranchID.',
    resolve: (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      return updateRecord(context, {
        ...calls,
        shape: branch,
        ids,
        input,
        load: (fresh) => Branch.readForUpdate(ids, fresh),
        changes: () => toChanges(branch, input.changes),
      });
    },
  },
  writtenPayload(Branch, calls),
);
