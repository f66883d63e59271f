import { type Branch, branch, putBranchID } from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBranch } from '../loaders/rest-ids.ts';
import { checkCoordinates, coordinatesOf, distanceKm } from './branch-distance.ts';
import { CoordinatesInput } from './branch-search.ts';
import { builder } from './builder.ts';
import { bankIdOr } from './context.ts';
import { changesType, inputType, recordFields, toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { type BranchNode, BranchObject, branchNode } from './node-lookups/branch.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';
import { writeField, writtenNode } from './write-field.ts';

/** The version of a branch as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const branchVersion = (record: Branch): string => recordVersion(branch.answer, record);

BranchObject.implement({
  description: branch.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, branch),
    id: t.id(branchNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    branchId: t.id({
      nullable: true,
      description:
        "The branch's id at the bank. REST `id`, which the bank may leave out; `id` is then positional.",
      extensions: answeredByIds,
      // If the bank sent something other than text, the record holds an error here.
      resolve: ({ branchId, record }) => branchId ?? record?.id,
    }),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the branch is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (node) => branchVersion(recordOf(node)),
    }),
    distanceKm: t.float({
      nullable: true,
      description:
        'How far it is from a place as the crow flies, in kilometres; null where the branch does not say where it is.',
      args: { from: t.arg({ type: CoordinatesInput, required: true, description: 'The place.' }) },
      resolve: (node, { from }) => {
        checkCoordinates('from', from);
        const to = coordinatesOf(recordOf(node));
        return to && distanceKm(from, to);
      },
    }),
  }),
});

const PutBranchInput = builder.inputType('PutBranchInput', {
  description: 'The branch to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    branchId: t.id({ required: true, description: 'The branch.' }),
    branch: t.field({
      type: inputType(
        branch,
        'A whole branch, as putBranchID sends it. What is left out is not sent, and lost.',
      ),
      required: true,
      description: 'The request body.',
    }),
  }),
});

const PutBranchPayload = builder
  .objectRef<{ branch: BranchNode; trackId: string }>('PutBranchPayload')
  .implement({
    description: "The bank's answer to putBranchID.",
    fields: (t) => ({
      branch: t.field({
        type: BranchObject,
        nullable: true,
        description:
          'The branch as the bank answered it; read anew where the bank answered without it. REST then: getBranches.',
        ...writtenNode(
          () => branchNode,
          ({ branch }: { branch: BranchNode }) => branch,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putBranch', (t) =>
  t.field({
    type: PutBranchPayload,
    nullable: true,
    description:
      'Writes a branch. Replaces the whole record: what is left out is lost. To change a part of it use `updateBranch`. REST: putBranchID.',
    args: { input: t.arg({ type: PutBranchInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putBranchID,
      ({ input }: { input: typeof PutBranchInput.$inferInput }, defaults) => {
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          branchId: restId('branchId', input.branchId),
        };
        return { node: ids, ids: inBranch(ids), body: toBody(branch, input.branch) };
      },
      ({ node }, record) => ({ branch: { ...node, index: 0, query: null, record } }),
    ),
  }),
);

const UpdateBranchInput = builder.inputType('UpdateBranchInput', {
  description: 'The branch to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    branchId: t.id({ required: true, description: 'The branch.' }),
    changes: t.field({
      type: changesType(branch, 'Changes of a branch: what is left out keeps its value, null clears it.'),
      required: true,
      description: updateDescriptions.changes,
    }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

const UpdateBranchPayload = updatePayload('UpdateBranchPayload', {
  field: 'branch',
  nodeType: () => branchNode,
  type: BranchObject,
});

builder.mutationField('updateBranch', (t) =>
  t.field({
    type: UpdateBranchPayload,
    nullable: true,
    description: 'Changes a branch and keeps what is not named. REST: getBranches, then putBranchID.',
    args: {
      input: t.arg({ type: UpdateBranchInput, required: true, description: 'What to change, and how.' }),
    },
    ...updateField(
      {
        operation: putBranchID,
        payload: 'UpdateBranchPayload',
        nodeType: () => branchNode,
        versionOf: branchVersion,
      },
      ({ input }: { input: typeof UpdateBranchInput.$inferInput }, defaults) => {
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          branchId: restId('branchId', input.branchId),
        };
        const changes = toChanges(branch, input.changes);
        return {
          node: { ...ids, index: 0, query: null },
          ids: inBranch(ids),
          record: [ids.bankId, ids.branchId],
          ifVersion: input.ifVersion,
          changes: () => changes,
        };
      },
    ),
  }),
);
