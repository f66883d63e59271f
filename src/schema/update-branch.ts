import { putBranchID } from '../contract/branch.ts';
import { inBranch } from '../loaders/rest-ids.ts';
import { BranchMetaInput, branchVersion, LobbyInput } from './branch.ts';
import { builder } from './builder.ts';
import { mapChange } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { BranchObject, branchNode } from './node-lookups/branch.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';

const AddressChanges = builder.inputType('AddressChanges', {
  description: 'Changes of an address: what is left out keeps its value, null clears it.',
  fields: (t) => ({
    line1: t.string({ description: 'The first line, such as street and number. REST `line_1`.' }),
    line2: t.string({ description: 'The second line. REST `line_2`.' }),
    line3: t.string({ description: 'The third line. REST `line_3`.' }),
    city: t.string({ description: 'The town. REST `city`, which every address has: it cannot be cleared.' }),
    state: t.string({ description: 'The state or province. REST `state`.' }),
    postcode: t.string({ description: 'The postal code. REST `postcode`.' }),
    country: t.string({ description: 'The country. REST `country`.' }),
  }),
});

const LocationChanges = builder.inputType('LocationChanges', {
  description:
    'Changes of a place on the earth, in degrees: what is left out keeps its value, null clears it.',
  fields: (t) => ({
    latitude: t.float({ description: 'How far north. REST `latitude`, in degrees: it cannot be cleared.' }),
    longitude: t.float({ description: 'How far east. REST `longitude`, in degrees.' }),
  }),
});

const BranchChanges = builder.inputType('BranchChanges', {
  description: 'Changes of a branch: what is left out keeps its value, null clears it.',
  fields: (t) => ({
    acceptsDeposits: t.boolean({
      description: 'Whether money can be paid in there. REST `acceptsDeposits`: it cannot be cleared.',
    }),
    address: t.field({ type: AddressChanges, description: 'Where the branch is. REST `address`.' }),
    bankName: t.string({ description: "The name or code of the branch's bank. REST `bank`." }),
    lobby: t.field({ type: LobbyInput, description: 'When the lobby is open. REST `lobby`.' }),
    location: t.field({ type: LocationChanges, description: 'Where on the earth it is. REST `location`.' }),
    meta: t.field({ type: BranchMetaInput, description: 'What is said about the data. REST `meta`.' }),
    name: t.string({ description: "The branch's name. REST `name`." }),
  }),
});

const branchChanges = ({ bankName, address, ...changes }: typeof BranchChanges.$inferInput) => ({
  ...changes,
  bank: bankName,
  address: mapChange(address, ({ line1, line2, line3, ...rest }) => ({
    ...rest,
    line_1: line1,
    line_2: line2,
    line_3: line3,
  })),
});

const UpdateBranchInput = builder.inputType('UpdateBranchInput', {
  description: 'The branch to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    branchId: t.id({ required: true, description: 'The branch.' }),
    changes: t.field({ type: BranchChanges, required: true, description: updateDescriptions.changes }),
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
        const branch = {
          bankId: bankIdOr(defaults, input.bankId),
          branchId: restId('branchId', input.branchId),
        };
        const changes = branchChanges(input.changes);
        return {
          node: { ...branch, index: 0, query: null },
          ids: inBranch(branch),
          record: [branch.bankId, branch.branchId],
          ifVersion: input.ifVersion,
          changes: () => changes,
        };
      },
    ),
  }),
);
