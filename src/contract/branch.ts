import { z } from 'zod';
import { get, operation, put, query } from './operation.ts';
import { type Answer, boolean, id, number, part, resource, text } from './resource.ts';

const inDegrees = ', in degrees';

const address = resource(
  'Address',
  'A postal address.',
  {
    city: text('city', 'The town.', {
      required: 'both',
      notes: { changes: ', which every address has: it cannot be cleared' },
    }),
    country: text('country', 'The country.'),
    postcode: text('postcode', 'The postal code.'),
    state: text('state', 'The state or province.'),
    line1: text('line_1', 'The first line, such as street and number.'),
    line2: text('line_2', 'The second line.'),
    line3: text('line_3', 'The third line.'),
  },
  {
    changes: {
      name: 'AddressChanges',
      description: 'Changes of an address: a field that is left out keeps its value, and null clears it.',
    },
  },
);

const lobby = resource('Lobby', "A branch's lobby.", {
  is24Hours: boolean('is24Hours', 'Whether the lobby is open day and night.', { required: 'both' }),
});

const location = resource(
  'Location',
  'A place on the earth, in degrees.',
  {
    latitude: number('latitude', 'How far north.', {
      required: 'both',
      notes: { answer: inDegrees, input: inDegrees, changes: `${inDegrees}: it cannot be cleared` },
    }),
    longitude: number('longitude', 'How far east.', { notes: { answer: inDegrees, input: inDegrees } }),
  },
  {
    changes: {
      name: 'LocationChanges',
      description:
        'Changes of a place on the earth, in degrees: a field that is left out keeps its value, and null clears it.',
    },
  },
);

const meta = resource('BranchMeta', "A branch's metadata.", {
  license: text('license', 'The licence of the data about the branch.', { required: 'both' }),
});

/** A branch (model BranchAtmDef). */
export const branch = resource('Branch', 'A branch of a bank. REST: getBranches, or postBranches.', {
  acceptsDeposits: boolean('acceptsDeposits', 'Whether money can be paid in there.', {
    required: 'both',
    notes: { changes: ': it cannot be cleared' },
  }),
  address: part('address', 'Where the branch is.', address),
  lobby: part('lobby', 'When the lobby is open.', lobby),
  location: part('location', 'Where on the earth it is.', location),
  meta: part('meta', 'What is said about the data.', meta),
  name: text('name', "The branch's name."),
  bankName: text('bank', "The name or code of the branch's bank.", {
    notes: { answer: ', as the bank wrote it' },
    formerly: { name: 'bank' },
  }),
  branchId: id('id', "The branch's id at the bank.", { isOwnId: true, formerly: { name: 'id' } }),
});
export type Branch = Answer<typeof branch>;

/** The query body of postBranches. */
export const branchQuery = z.strictObject({ id: z.string(), name: z.string().optional() });
export type BranchQuery = z.infer<typeof branchQuery>;

const branches = { audience: 'public', resource: 'branch', answer: branch.answer } as const;

export const getBranches = operation({
  id: 'getBranches',
  ...get,
  ...branches,
  path: '/v1/api/banks/{BANK_ID}/branches',
  auth: 'none',
  envelope: 'branches',
});

export const postBranches = operation({
  id: 'postBranches',
  ...query,
  ...branches,
  path: '/v1/api/banks/{BANK_ID}/branches',
  auth: 'none',
  body: branchQuery,
  envelope: 'branches',
});

export const putBranchID = operation({
  id: 'putBranchID',
  ...put,
  ...branches,
  path: '/v1/api/banks/{BANK_ID}/branches/{BRANCH_ID}',
  body: branch.body,
  envelope: null,
});
