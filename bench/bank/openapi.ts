import { z } from 'zod';
import { operations } from '../../src/contract/operations.ts';
import { metaOf } from '../../src/contract/record.ts';

/** The operations that the bench's queries need, from the contract. */
export const asked = [
  operations.getBranches,
  operations.getCustomer,
  { ...operations.getAccountsScope, path: operations.getAccountsScope.path.replace('{scope}', 'views') },
  operations.getOtherAccounts,
  operations.getTransactionsRequest,
  operations.getTransaction,
] as const;

/** A shape of the contract as the bank sends it, in which an amount is a number. */
function schemaOf(shape: z.core.$ZodType): object {
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) return schemaOf(shape.unwrap());
  if (shape instanceof z.ZodArray) return { type: 'array', items: schemaOf(shape.element) };
  if (shape instanceof z.ZodObject) {
    const members = Object.entries<z.core.$ZodType>(shape.shape).map(([key, member]) => [
      key,
      schemaOf(member),
    ]);
    return { type: 'object', title: metaOf(shape).name, properties: Object.fromEntries(members) };
  }
  if (shape instanceof z.ZodBoolean) return { type: 'boolean' };
  return { type: shape instanceof z.ZodNumber || metaOf(shape).scalar === 'Decimal' ? 'number' : 'string' };
}

/** The operations as an OpenAPI document, for contenders that generate their schema from one. */
export const openApi = (bankUrl: string) => ({
  openapi: '3.0.3',
  info: { title: 'Bank', version: '1' },
  servers: [{ url: bankUrl }],
  paths: Object.fromEntries(
    asked.map(({ id, path, envelope, answer }) => {
      const record = schemaOf(answer);
      const list = { type: 'array', items: record };
      const schema =
        envelope === null ? record : { type: 'object', title: `${id}List`, properties: { [envelope]: list } };
      const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
        return { name, in: 'path', required: true, schema: { type: 'string' } };
      });
      const responses = { 200: { description: 'The answer.', content: { 'application/json': { schema } } } };
      return [path, { get: { operationId: id, parameters, responses } }];
    }),
  ),
});
