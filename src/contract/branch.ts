import { z } from 'zod';
import { boolean, id, number, text } from './common-schemas.ts';
import { get, operation, put, query } from './operation.ts';
import { bodyOf, record } from './record.ts';
import { asWritten } from './shared-parts.ts';

const inDegrees = ', in degrees';

const address = record(
  'Address',
  'A postal address.',
  {
    city: text.meta({
      description: 'The town.',
      notes: { changes: ', which every address has: it cannot be cleared' },
    }),
    country: text.nullish().describe('The country.'),
    postcode: text.nullish().describe('The postal code.'),
    state: text.nullish().describe('The state or province.'),
    line_1: text.nullish().describe('The first line, such as street and number.'),
    line_2: text.nullish().describe('The second line.'),
    line_3: text.nullish().describe('The third line.'),
  },
  {
    changes: { description: 'Changes of an address: null clears a field, no value keeps it.' },
  },
);

const lobby = record('Lobby', "A branch's lobby.", {
  is24Hours: boolean.describe('Whether the lobby is open day and night.'),
});

const location = record(
  'Location',
  'Coordinates of a place.',
  {
    latitude: number.meta({
      description: 'The latitude.',
      notes: { answer: inDegrees, input: inDegrees, changes: `${inDegrees}: it cannot be cleared` },
    }),
    longitude: number.nullish().meta({
      description: 'The longitude.',
      notes: { answer: inDegrees, input: inDegrees },
    }),
  },
  {
    changes: { description: 'Changes of coordinates: null clears a field.' },
  },
);

const meta = record('BranchMeta', "A branch's metadata.", {
  license: text.describe('The licence of the data about the branch.'),
});

/** A branch (model BranchAtmDef). */
export const branch = record('Branch', 'A branch of a bank.', {
  acceptsDeposits: boolean.meta({
    description: 'Whether the branch takes deposits.',
    notes: { changes: ': it cannot be cleared' },
  }),
  address: address.nullish().describe('The address of the branch.'),
  lobby: lobby.nullish().describe('The hours of the lobby.'),
  location: location.nullish().describe('The coordinates of the branch.'),
  meta: meta.nullish().describe('The licence of the data about the branch.'),
  name: text.nullish().describe("The branch's name."),
  bank: text.nullish().meta({
    name: 'bankName',
    description: 'The bank of the branch, by name or code.',
    notes: asWritten,
  }),
  id: id.nullish().meta({ name: 'branchId', description: "The branch's id at the bank." }),
});
export type Branch = z.infer<typeof branch>;

/** The query body of postBranches. */
const branchQuery = z.strictObject({ id: z.string(), name: z.string().optional() });
export type BranchQuery = z.infer<typeof branchQuery>;

const branches = { audience: 'public', resource: 'branch', answer: branch } as const;

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
  body: bodyOf(branch),
  envelope: null,
});
