import { type GraphQLArgument, isEnumType, isInputObjectType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/schema/schema.ts';

/** Descriptions are for app authors: they say what a thing is, what null means, and REST's name for it last. */

interface Described {
  readonly name: string;
  readonly text: string;
}

const described: readonly Described[] = Object.values(schema.getTypeMap())
  .filter(({ name }) => !name.startsWith('__'))
  .flatMap((type) => {
    const own = { name: type.name, text: type.description ?? '' };
    if (isEnumType(type))
      return [
        own,
        ...type
          .getValues()
          .map((value) => ({ name: `${type.name}.${value.name}`, text: value.description ?? '' })),
      ];
    if (!isObjectType(type) && !isInputObjectType(type)) return [own];
    const fields = Object.values(type.getFields()).flatMap((field) => [
      { name: `${type.name}.${field.name}`, text: field.description ?? '' },
      ...('args' in field
        ? field.args.map((arg: GraphQLArgument) => ({
            name: `${type.name}.${field.name}(${arg.name}:)`,
            text: arg.description ?? '',
          }))
        : []),
    ]);
    return [own, ...fields];
  });

const saysNothing = [
  /^The (account|bank|branch|customer|entry itself|payment|place|product|request|transaction|view)(, which pays)?\.( REST|$)/,
  /^(What it is for|How far it is|Which of them|What to put, and where|The request body|ISO 8601, UTC|Another view)\./,
  /\bpath's\b|query body|^As in the mutation's payload|^REST `/,
];

test.each(saysNothing)('no description is an empty phrase such as %s', (phrase) => {
  expect(described.filter(({ text }) => text === '' || phrase.test(text))).toEqual([]);
});

test('a field of a record says what null means, and names REST last', () => {
  const records = described.filter(
    ({ name, text }) =>
      /^(Account|AccountHolder|Address|Branch|Customer|Message|Money|OtherAccount|Product|Transaction\w*)\.\w+$/.test(
        name,
      ) && / REST `/.test(text),
  );
  expect(records.length).toBeGreaterThan(60);
  for (const { name, text } of records) {
    const [, last = ''] = / (REST `.*)$/s.exec(text) ?? [];
    expect(last, name).not.toMatch(/\. [A-Z]/);
  }
  expect(described.find(({ name }) => name === 'Account.iban')?.text).toBe(
    'The international account number. Null if the bank leaves it out. REST `IBAN`.',
  );
});
