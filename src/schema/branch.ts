import {
  type Address,
  type Branch,
  type BranchBody,
  branch as branchShape,
  putBranchID,
} from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBranch } from '../loaders/rest-ids.ts';
import { checkCoordinates, coordinatesOf, distanceKm } from './branch-distance.ts';
import { CoordinatesInput } from './branch-search.ts';
import { builder } from './builder.ts';
import { mapOptional, omitNullish } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { idUnderEitherName, renamedTo, underEitherName } from './input-names.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { type BranchNode, BranchObject, branchNode } from './node-lookups/branch.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { writeField, writtenNode } from './write-field.ts';

const AddressObject = builder.objectRef<Address>('Address').implement({
  description: 'A postal address.',
  fields: (t) => ({
    line1: t.exposeString('line_1', {
      nullable: true,
      description: 'The first line, such as street and number. REST `line_1`.',
    }),
    line2: t.exposeString('line_2', { nullable: true, description: 'The second line. REST `line_2`.' }),
    line3: t.exposeString('line_3', { nullable: true, description: 'The third line. REST `line_3`.' }),
    city: t.exposeString('city', { nullable: true, description: 'The town. REST `city`.' }),
    state: t.exposeString('state', { nullable: true, description: 'The state or province. REST `state`.' }),
    postcode: t.exposeString('postcode', {
      nullable: true,
      description: 'The postal code. REST `postcode`.',
    }),
    country: t.exposeString('country', { nullable: true, description: 'The country. REST `country`.' }),
  }),
});

const LobbyRef = builder.objectRef<NonNullable<Branch['lobby']>>('Lobby').implement({
  description: "A branch's lobby.",
  fields: (t) => ({
    is24Hours: t.exposeBoolean('is24Hours', {
      nullable: true,
      description: 'Whether the lobby is open day and night. REST `is24Hours`.',
    }),
  }),
});

const LocationRef = builder.objectRef<NonNullable<Branch['location']>>('Location').implement({
  description: 'A place on the earth, in degrees.',
  fields: (t) => ({
    latitude: t.exposeFloat('latitude', {
      nullable: true,
      description: 'How far north. REST `latitude`, in degrees.',
    }),
    longitude: t.exposeFloat('longitude', {
      nullable: true,
      description: 'How far east. REST `longitude`, in degrees.',
    }),
  }),
});

const BranchMetaRef = builder.objectRef<NonNullable<Branch['meta']>>('BranchMeta').implement({
  description: "A branch's metadata.",
  fields: (t) => ({
    license: t.exposeString('license', {
      nullable: true,
      description: 'The licence of the data about the branch. REST `license`.',
    }),
  }),
});
/** The version of a branch as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const branchVersion = (record: Branch): string => recordVersion(branchShape, record);

BranchObject.implement({
  description: 'A branch of a bank. REST: getBranches, or postBranches.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
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
      resolve: (branch) => branchVersion(recordOf(branch)),
    }),
    bankName: t.string({
      nullable: true,
      description: "The name or code of the branch's bank. REST `bank`, as the bank wrote it.",
      resolve: (branch) => recordOf(branch).bank,
    }),
    name: t.string({
      nullable: true,
      description: "The branch's name. REST `name`.",
      resolve: (branch) => recordOf(branch).name,
    }),
    acceptsDeposits: t.boolean({
      nullable: true,
      description: 'Whether money can be paid in there. REST `acceptsDeposits`.',
      resolve: (branch) => recordOf(branch).acceptsDeposits,
    }),
    address: t.field({
      type: AddressObject,
      nullable: true,
      description: 'Where the branch is. REST `address`.',
      resolve: (branch) => recordOf(branch).address,
    }),
    lobby: t.field({
      type: LobbyRef,
      nullable: true,
      description: 'When the lobby is open. REST `lobby`.',
      resolve: (branch) => recordOf(branch).lobby,
    }),
    location: t.field({
      type: LocationRef,
      nullable: true,
      description: 'Where on the earth it is. REST `location`.',
      resolve: (branch) => recordOf(branch).location,
    }),
    distanceKm: t.float({
      nullable: true,
      description:
        'How far it is from a place as the crow flies, in kilometres; null where the branch does not say where it is.',
      args: { from: t.arg({ type: CoordinatesInput, required: true, description: 'The place.' }) },
      resolve: (branch, { from }) => {
        checkCoordinates('from', from);
        const to = coordinatesOf(recordOf(branch));
        return to && distanceKm(from, to);
      },
    }),
    meta: t.field({
      type: BranchMetaRef,
      nullable: true,
      description: 'What is said about the data. REST `meta`.',
      resolve: (branch) => recordOf(branch).meta,
    }),
  }),
});

const AddressInput = builder.inputType('AddressInput', {
  description: 'A postal address.',
  fields: (t) => ({
    line1: t.string({ description: 'The first line, such as street and number. REST `line_1`.' }),
    line2: t.string({ description: 'The second line. REST `line_2`.' }),
    line3: t.string({ description: 'The third line. REST `line_3`.' }),
    city: t.string({ required: true, description: 'The town. REST `city`.' }),
    state: t.string({ description: 'The state or province. REST `state`.' }),
    postcode: t.string({ description: 'The postal code. REST `postcode`.' }),
    country: t.string({ description: 'The country. REST `country`.' }),
  }),
});

export const LobbyInput = builder.inputType('LobbyInput', {
  description: "A branch's lobby.",
  fields: (t) => ({
    is24Hours: t.boolean({
      required: true,
      description: 'Whether the lobby is open day and night. REST `is24Hours`.',
    }),
  }),
});

const LocationInput = builder.inputType('LocationInput', {
  description: 'A place on the earth, in degrees.',
  fields: (t) => ({
    latitude: t.float({ required: true, description: 'How far north. REST `latitude`, in degrees.' }),
    longitude: t.float({ description: 'How far east. REST `longitude`, in degrees.' }),
  }),
});

export const BranchMetaInput = builder.inputType('BranchMetaInput', {
  description: "A branch's metadata.",
  fields: (t) => ({
    license: t.string({
      required: true,
      description: 'The licence of the data about the branch. REST `license`.',
    }),
  }),
});

const BranchInput = builder.inputType('BranchInput', {
  description: 'A whole branch, as putBranchID sends it. What is left out is not sent, and lost.',
  fields: (t) => ({
    acceptsDeposits: t.boolean({
      required: true,
      description: 'Whether money can be paid in there. REST `acceptsDeposits`.',
    }),
    address: t.field({ type: AddressInput, description: 'Where the branch is. REST `address`.' }),
    bankName: t.string({ description: "The name or code of the branch's bank. REST `bank`." }),
    bank: t.string({
      description: "The name or code of the branch's bank. REST `bank`.",
      deprecationReason: renamedTo('bankName'),
    }),
    branchId: t.id({ description: "The branch's id at the bank. REST `id`." }),
    id: t.id({
      description: "The branch's id at the bank. REST `id`.",
      deprecationReason: renamedTo('branchId'),
    }),
    lobby: t.field({ type: LobbyInput, description: 'When the lobby is open. REST `lobby`.' }),
    location: t.field({ type: LocationInput, description: 'Where on the earth it is. REST `location`.' }),
    meta: t.field({ type: BranchMetaInput, description: 'What is said about the data. REST `meta`.' }),
    name: t.string({ description: "The branch's name. REST `name`." }),
  }),
});

const branchBody = ({ bankName, branchId, ...input }: typeof BranchInput.$inferInput): BranchBody =>
  omitNullish({
    ...input,
    bank: underEitherName(['bankName', bankName], ['bank', input.bank]),
    id: idUnderEitherName('branchId', branchId, 'id', input.id),
    address: mapOptional(input.address, ({ line1, line2, line3, ...rest }) =>
      omitNullish({ ...rest, line_1: line1, line_2: line2, line_3: line3 }),
    ),
    location: mapOptional(input.location, omitNullish),
  });

const PutBranchInput = builder.inputType('PutBranchInput', {
  description: 'The branch to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    branchId: t.id({ required: true, description: 'The branch.' }),
    branch: t.field({ type: BranchInput, required: true, description: 'The request body.' }),
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
        const branch = {
          bankId: bankIdOr(defaults, input.bankId),
          branchId: restId('branchId', input.branchId),
        };
        return { branch, ids: inBranch(branch), body: branchBody(input.branch) };
      },
      ({ branch }, record) => ({ branch: { ...branch, index: 0, query: null, record } }),
    ),
  }),
);
