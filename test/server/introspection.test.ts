import {
  buildClientSchema,
  getIntrospectionQuery,
  type IntrospectionOptions,
  type IntrospectionQuery,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';

/** Tools read the schema with queries of their own, and most without credentials. */

let bank: RecordingBank;
let bankql: TestBankql;
beforeAll(async () => {
  bank = await startRecordingBank();
  bankql = await createTestBankql({ bankUrl: bank.url });
});
afterAll(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
});

const everything = {
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
} satisfies IntrospectionOptions;

/** Apollo Rover's, which asks for more levels of a type than graphql does by default. */
const typeRef = (levels: number): string =>
  levels === 0 ? 'kind name' : `kind name ofType { ${typeRef(levels - 1)} }`;
const rover = `query GraphIntrospectQuery {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types { ...FullType }
    directives { name description locations args { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description
  fields(includeDeprecated: true) {
    name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason
  }
  inputFields { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { ${typeRef(9)} }`;

describe('the schema can be read without credentials', () => {
  test.each<[string, string]>([
    ['graphql by default', getIntrospectionQuery()],
    ...Object.keys(everything).map((option): [string, string] => [
      `graphql with ${option}`,
      getIntrospectionQuery({ descriptions: false, [option]: true }),
    ]),
    ['GraphiQL and graphql-codegen, which ask for everything', getIntrospectionQuery(everything)],
    ['Apollo Rover', rover],
  ])('by %s', async (_tool, query) => {
    const { data, errors } = await bankql.ask<IntrospectionQuery, never>(query, undefined, {});
    expect(errors).toBeUndefined();
    if (!data) throw new Error('no data');
    const schema = buildClientSchema(data);
    expect(schema.getMutationType()?.getFields()).toHaveProperty('makeTransaction');
    expect(bank.calls).toEqual([]);
  });
});
