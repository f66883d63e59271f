import { z } from 'zod';
import { number, optional, text } from './common-schemas.ts';
import { operation } from './operation.ts';

const address = z.object({
  city: text,
  country: optional(text),
  line_1: optional(text),
  line_2: optional(text),
  line_3: optional(text),
  postcode: optional(text),
  state: optional(text),
});
export type Address = z.infer<typeof address>;

const addressBody = z.strictObject({
  city: text,
  country: text.optional(),
  line_1: text.optional(),
  line_2: text.optional(),
  line_3: text.optional(),
  postcode: text.optional(),
  state: text.optional(),
});

/** A branch as the bank answers it (model BranchAtmDef). `latitude` and `longitude` are degrees. */
export const branch = z.object({
  acceptsDeposits: z.boolean(),
  address: optional(address),
  bank: optional(text),
  id: optional(text),
  lobby: optional(z.object({ is24Hours: z.boolean() })),
  location: optional(z.object({ latitude: number, longitude: optional(number) })),
  meta: optional(z.object({ license: text })),
  name: optional(text),
});
export type Branch = z.infer<typeof branch>;

export const branchBody = z.strictObject({
  acceptsDeposits: z.boolean(),
  address: addressBody.optional(),
  bank: text.optional(),
  id: text.optional(),
  lobby: z.strictObject({ is24Hours: z.boolean() }).optional(),
  location: z.strictObject({ latitude: z.number(), longitude: z.number().optional() }).optional(),
  meta: z.strictObject({ license: text }).optional(),
  name: text.optional(),
});
export type BranchBody = z.infer<typeof branchBody>;

/** The query body of postBranches. */
export const branchQuery = z.strictObject({ id: text, name: text.optional() });
export type BranchQuery = z.infer<typeof branchQuery>;

export const getBranches = operation({
  id: 'getBranches',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/branches',
  tracked: false,
  auth: 'none',
  kind: 'read',
  audience: 'public',
  body: null,
  resource: 'branch',
  envelope: 'branches',
  answer: branch,
});

export const postBranches = operation({
  id: 'postBranches',
  method: 'POST',
  path: '/v1/api/banks/{BANK_ID}/branches',
  tracked: true,
  auth: 'none',
  kind: 'read',
  audience: 'public',
  body: branchQuery,
  resource: 'branch',
  envelope: 'branches',
  answer: branch,
});

export const putBranchID = operation({
  id: 'putBranchID',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/branches/{BRANCH_ID}',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'public',
  body: branchBody,
  resource: 'branch',
  envelope: null,
  answer: branch,
});
