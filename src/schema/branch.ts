import { validateId } from '../bank/ids.ts';
import { type Address, type Branch, type BranchBody, putBranchID } from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBranch } from '../loaders/rest-ids.ts';
import { checkCoordinates, coordinatesOf, distanceKm } from './branch-distance.ts';
import { CoordinatesInput } from './branch-search.ts';
import { builder } from './builder.ts';
import { mapOptional, omitNullish } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { knownObject } from './field-extensions.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { BankObject, bankNode } from './node-types/bank.ts';
import { type BranchNode, BranchObject, branchNode } from './node-types/branch.ts';
import { writeField } from './write-field.ts';

const AddressObject = builder.objectRef<Address>('Address').implement({
  description: 'A postal address.',
  fields: (t) => ({
    line1: t.exposeString('line_1', { nullable: true, description: 'REST `line_1`.' }),
    line2: t.exposeString('line_2', { nullable: true, description: 'REST `line_2`.' }),
    line3: t.exposeString('line_3', { nullable: true, description: 'REST `line_3`.' }),
    city: t.exposeString('city', { nullable: true, description: 'REST `city`.' }),
    state: t.exposeString('state', { nullable: true, description: 'REST `state`.' }),
    postcode: t.exposeString('postcode', { nullable: true, description: 'REST `postcode`.' }),
    country: t.exposeString('country', { nullable: true, description: 'REST `country`.' }),
  }),
});

const LobbyRef = builder.objectRef<NonNullable<Branch['lobby']>>('Lobby').implement({
  description: "A branch's lobby.",
  fields: (t) => ({
    is24Hours: t.exposeBoolean('is24Hours', { nullable: true, description: 'REST `is24Hours`.' }),
  }),
});

const LocationRef = builder.objectRef<NonNullable<Branch['location']>>('Location').implement({
  description: 'A place on the earth, in degrees.',
  fields: (t) => ({
    latitude: t.exposeFloat('latitude', { nullable: true, description: 'REST `latitude`, in degrees.' }),
    longitude: t.exposeFloat('longitude', { nullable: true, description: 'REST `longitude`, in degrees.' }),
  }),
});

const BranchMetaRef = builder.objectRef<NonNullable<Branch['meta']>>('BranchMeta').implement({
  description: "A branch's metadata.",
  fields: (t) => ({
    license: t.exposeString('license', { nullable: true, description: 'REST `license`.' }),
  }),
});
BranchObject.implement({
  description: 'A branch of a bank. REST: getBranches, or postBranches.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(branchNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    branchId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: answeredByIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
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
    bankName: t.string({
      nullable: true,
      description: 'REST `bank`, as the bank wrote it.',
      resolve: (branch) => recordOf(branch).bank,
    }),
    name: t.string({
      nullable: true,
      description: 'REST `name`.',
      resolve: (branch) => recordOf(branch).name,
    }),
    acceptsDeposits: t.boolean({
      nullable: true,
      description: 'REST `acceptsDeposits`.',
      resolve: (branch) => recordOf(branch).acceptsDeposits,
    }),
    address: t.field({
      type: AddressObject,
      nullable: true,
      description: 'REST `address`.',
      resolve: (branch) => recordOf(branch).address,
    }),
    lobby: t.field({
      type: LobbyRef,
      nullable: true,
      description: 'REST `lobby`.',
      resolve: (branch) => recordOf(branch).lobby,
    }),
    location: t.field({
      type: LocationRef,
      nullable: true,
      description: 'REST `location`.',
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
      description: 'REST `meta`.',
      resolve: (branch) => recordOf(branch).meta,
    }),
  }),
});

const AddressInput = builder.inputType('AddressInput', {
  description: 'A postal address.',
  fields: (t) => ({
    line1: t.string({ description: 'REST `line_1`.' }),
    line2: t.string({ description: 'REST `line_2`.' }),
    line3: t.string({ description: 'REST `line_3`.' }),
    city: t.string({ required: true, description: 'REST `city`.' }),
    state: t.string({ description: 'REST `state`.' }),
    postcode: t.string({ description: 'REST `postcode`.' }),
    country: t.string({ description: 'REST `country`.' }),
  }),
});

const LobbyInput = builder.inputType('LobbyInput', {
  description: "A branch's lobby.",
  fields: (t) => ({ is24Hours: t.boolean({ required: true, description: 'REST `is24Hours`.' }) }),
});

const LocationInput = builder.inputType('LocationInput', {
  description: 'A place on the earth, in degrees.',
  fields: (t) => ({
    latitude: t.float({ required: true, description: 'REST `latitude`, in degrees.' }),
    longitude: t.float({ description: 'REST `longitude`, in degrees.' }),
  }),
});

const BranchMetaInput = builder.inputType('BranchMetaInput', {
  description: "A branch's metadata.",
  fields: (t) => ({ license: t.string({ required: true, description: 'REST `license`.' }) }),
});

const BranchInput = builder.inputType('BranchInput', {
  description: 'What putBranchID sends. What is left out is not sent.',
  fields: (t) => ({
    acceptsDeposits: t.boolean({ required: true, description: 'REST `acceptsDeposits`.' }),
    address: t.field({ type: AddressInput, description: 'REST `address`.' }),
    bank: t.string({ description: 'REST `bank`.' }),
    id: t.id({ description: 'REST `id`.' }),
    lobby: t.field({ type: LobbyInput, description: 'REST `lobby`.' }),
    location: t.field({ type: LocationInput, description: 'REST `location`.' }),
    meta: t.field({ type: BranchMetaInput, description: 'REST `meta`.' }),
    name: t.string({ description: 'REST `name`.' }),
  }),
});

const branchBody = (input: typeof BranchInput.$inferInput): BranchBody =>
  omitNullish({
    ...input,
    address: mapOptional(input.address, ({ line1, line2, line3, ...rest }) =>
      omitNullish({ ...rest, line_1: line1, line_2: line2, line_3: line3 }),
    ),
    location: mapOptional(input.location, omitNullish),
  });

const PutBranchInput = builder.inputType('PutBranchInput', {
  description: 'The branch to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: "The path's bank; the configured one where left out." }),
    branchId: t.id({ required: true, description: "The path's branch." }),
    branch: t.field({ type: BranchInput, required: true, description: 'The request body.' }),
  }),
});

const PutBranchPayload = builder
  .objectRef<{ branch: BranchNode; trackId: string }>('PutBranchPayload')
  .implement({
    description: "The bank's answer to putBranchID.",
    fields: (t) => ({
      branch: t.expose('branch', {
        type: BranchObject,
        nullable: true,
        description: 'The branch as the bank answered it.',
        extensions: knownObject(({ branch }: { branch: BranchNode }) => branch),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putBranch', (t) =>
  t.field({
    type: PutBranchPayload,
    nullable: true,
    description: 'REST: putBranchID.',
    args: { input: t.arg({ type: PutBranchInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putBranchID,
      ({ input }: { input: typeof PutBranchInput.$inferInput }, defaults) => {
        const branch = {
          bankId: bankIdOr(defaults, input.bankId),
          branchId: validateId('branchId', input.branchId),
        };
        return { branch, ids: inBranch(branch), body: branchBody(input.branch) };
      },
      ({ branch }, record) => ({ branch: { ...branch, index: 0, query: null, record } }),
    ),
  }),
);
