import fc from 'fast-check';
import {
  type ExecutionResult,
  execute,
  getOperationAST,
  getVariableValues,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { expect, test } from 'vitest';
import { prepareOperation } from '../../src/executor/compile.ts';
import { type AnyOperation, anyOperation, anySchema, Outcomes } from '../support/any-schema.ts';

const rules = specifiedRules.filter(
  (rule) => rule !== NoUnusedVariablesRule && rule !== NoUnusedFragmentsRule,
);

/** graphql has four sentences for a schema that is wrong; one is enough. */
const ofSchema = /^(Runtime Object type|Abstract type) .*/;

const told = ({ data, errors }: ExecutionResult) => ({
  data: JSON.stringify(data),
  errors: errors?.map(({ message, path, locations }) => ({
    message: message.replace(ofSchema, '$1').replace('Runtime Object type', 'Abstract type'),
    path,
    // An error of bankql shows three of them, however many nodes select the field.
    locations: locations?.slice(0, 3),
  })),
});

/** What both executors answer, and what they asked for; null where the operation is not valid. */
async function both({ document: text, variables }: AnyOperation, seed: string) {
  const document = parse(text);
  const [fault] = validate(anySchema, document, rules);
  const operation = getOperationAST(document);
  if (fault !== undefined || !operation) return null;
  const { variableValues: values } = getVariableValues(
    anySchema,
    operation.variableDefinitions ?? [],
    variables,
  );
  if (values === undefined) throw new Error('the variables do not fit');
  const prepared = prepareOperation({ schema: anySchema, document, operation });
  const reference = new Outcomes(seed, { ignoresRejections: true });
  const expected = await execute({
    schema: anySchema,
    document,
    variableValues: variables,
    contextValue: reference,
  });
  const outcomes = new Outcomes(seed);
  const first = await prepared.execute(outcomes, values);
  // Once more: a plan that has been used is the same plan.
  const second = await prepared.execute(new Outcomes(seed), values);
  return { expected, reference, first, outcomes, second };
}

test('1,000 operations are answered as by graphql: the same data, errors, places and resolvers', async () => {
  let compared = 0;
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(anyOperation, fc.string({ maxLength: 8 }), async (operation, seed) => {
      const answers = await both(operation, seed);
      if (answers === null) return;
      const { expected, reference, first, outcomes, second } = answers;
      expect(told(first)).toEqual(told(expected));
      expect(told(second)).toEqual(told(expected));
      expect(outcomes.asked).toEqual(reference.asked);
      compared++;
      if (expected.errors !== undefined) failed++;
    }),
    { numRuns: 1000, endOnFailure: true },
  );
  // The rest is not valid GraphQL: fields of one name that cannot be merged.
  expect(compared).toBeGreaterThan(800);
  expect(failed).toBeGreaterThan(200);
});
