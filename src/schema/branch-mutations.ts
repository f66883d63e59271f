import { branch, getBranches, putBranchID } from '../contract/branch.ts';
import { branchNode, branchVersion, readBranchForUpdate } from './branch.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Defaults } from './context.ts';
import { toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import {
  bankIdInput,
  changesInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const branchIdDescription = "The branch's id at the bank.";

const PutBranchInput = builder.inputType('PutBranchInput', {
  description: 'The branch to put, and where.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    branchId: t.id({ required: true, description: branchIdDescription }),
    branch: wholeRecordInput(t, branch, putBranchID),
  }),
});

const UpdateBranchInput = builder.inputType('UpdateBranchInput', {
  description: 'The branch to update, and how.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    branchId: t.id({ required: true, description: branchIdDescription }),
    ...changesInput(t, branch),
  }),
});

type Input = typeof PutBranchInput.$inferInput | typeof UpdateBranchInput.$inferInput;

/** Errors: BAD_USER_INPUT. */
const idsOf = ({ bankId, branchId }: Input, defaults: Defaults) => ({
  bankId: bankIdOr(defaults, bankId),
  branchId: restId('branchId', branchId),
});

const calls = { read: getBranches, write: putBranchID };

builder.mutationField('putBranch', (t) =>
  t.field({
    type: writtenPayload('PutBranchPayload', branchNode, calls),
    nullable: true,
    description:
      'Writes a branch. Replaces the whole record: what is left out is lost. To change a part of it use `updateBranch`. REST: putBranchID.',
    args: {
      input: t.arg({ type: PutBranchInput, required: true, description: 'The branch, and where to put it.' }),
    },
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { answer, trackId } = await session.write(putBranchID, ids, toBody(branch, input.branch));
      return { ids, record: answer, trackId };
    },
  }),
);

builder.mutationField('updateBranch', (t) =>
  t.field({
    type: writtenPayload('UpdateBranchPayload', branchNode, calls),
    nullable: true,
    description: 'Changes a branch, and keeps the rest. REST: getBranches, then putBranchID.',
    args: {
      input: t.arg({ type: UpdateBranchInput, required: true, description: 'What to change, and how.' }),
    },
    resolve: async (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      const written = await updateRecord(context, {
        ...calls,
        shape: branch,
        ids,
        input,
        load: (fresh) => readBranchForUpdate(ids, fresh),
        versionOf: branchVersion,
        changes: () => toChanges(branch, input.changes),
      });
      return { ids, ...written };
    },
  }),
);
