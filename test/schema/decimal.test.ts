import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failuresOf, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

const seed = 20_261_120;

/** Decimals of up to 30 digits before the point and 30 behind it, as JSON and GraphQL write them. */
const digits = (min: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: 30 }).map((all) => all.join(''));
const decimal = fc.tuple(fc.boolean(), digits(1), digits(0)).map(([negative, whole, fraction]) => {
  const left = whole.replace(/^0+(?=.)/, '');
  return `${negative ? '-' : ''}${left}${fraction === '' ? '' : `.${fraction}`}`;
});
const decimals = fc.sample(decimal, { seed, numRuns: 240 });

/** Requests with these amounts, written as they are. */
const listOf = (amounts: readonly string[]) => ({
  body: `{"transaction-requests":[${amounts.map((amount) => `{"body":{"value":{"amount":${amount}}}}`).join()}]}`,
});
const amountsQuery =
  '{ bank { account(accountId: "A") { transactionRequests { nodes { value { amount } } } } } }';
const amountsIn = (data: unknown) =>
  [...JSON.stringify(data).matchAll(/"amount":(null|"[^"]*")/g)].map(([, text]): unknown =>
    JSON.parse(text ?? ''),
  );

describe('an amount of the bank', () => {
  test('is answered with its digits, whatever they are: 240 of them', async () => {
    expect(new Set(decimals).size).toBeGreaterThan(216);
    bank.otherwise(listOf(decimals));
    const result = await ask(amountsQuery);
    expect(result.errors).toBeUndefined();
    expect(amountsIn(result.data)).toEqual(decimals);
  });

  test.each([
    ['1e3', '1000'],
    ['1E+3', '1000'],
    ['1.5e3', '1500'],
    ['1.50e1', '15.0'],
    ['1.5e-3', '0.0015'],
    ['-2.50e+2', '-250'],
    ['-2.5e-1', '-0.25'],
    ['12.34e0', '12.34'],
    ['12.34e-0', '12.34'],
    ['0e5', '0'],
    ['0.00e1', '0.0'],
    ['1e-30', `0.${'0'.repeat(29)}1`],
    ['123456789012345678901234567890.5e1', '1234567890123456789012345678905'],
    ['1e400', `1${'0'.repeat(400)}`],
    ['1e-400', `0.${'0'.repeat(399)}1`],
    ['-0', '-0'],
    ['9007199254740993', '9007199254740993'],
    ['0.1000', '0.1000'],
    ['0.30000000000000004', '0.30000000000000004'],
  ])('is written as plain digits: %s', async (written, answered) => {
    bank.otherwise(listOf([written]));
    const result = await ask(amountsQuery);
    expect(result.errors).toBeUndefined();
    expect(amountsIn(result.data)).toEqual([answered]);
  });

  test('with an exponent is expanded exactly: 300 of them', async () => {
    /** A decimal's value as an integer and the number of its decimal places. */
    const value = (text: string) => {
      const [, whole = '', fraction = '', exponent = '0'] =
        /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
      return { number: BigInt(whole + fraction), places: fraction.length - Number(exponent) };
    };
    const scaled = (text: string) => {
      const { number, places } = value(text);
      return number * 10n ** BigInt(200 - places);
    };
    const written = fc
      .sample(fc.tuple(decimal, fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'), fc.nat({ max: 60 })), {
        seed,
        numRuns: 300,
      })
      .map((parts) => parts.join(''));
    bank.otherwise(listOf(written));
    const answered = amountsIn((await ask(amountsQuery)).data).map(String);
    expect(answered.every((text) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text))).toBe(true);
    expect(answered.map(scaled)).toEqual(written.map(scaled));
  });

  test('that no amount can be is null with BANK_BAD_RESPONSE, and leaves the others', async () => {
    bank.otherwise(listOf(['1', '1e99999', '"1,00"', '"NaN"', 'true', '[1]', '{}', '2']));
    const result = await ask(amountsQuery);
    expect(amountsIn(result.data)).toEqual(['1', null, null, null, null, null, null, '2']);
    expect(failuresOf(result)).toEqual(
      [1, 2, 3, 4, 5, 6].map(
        (index) => `bank.account.transactionRequests.nodes.${index}.value.amount BANK_BAD_RESPONSE`,
      ),
    );
  });
});

describe('an amount of a caller', () => {
  const forms = [
    ['a string in the variables', (_: string, name: string) => `$${name}`],
    ['a string in the text', (amount: string) => `"${amount}"`],
    ['a number in the text', (amount: string) => amount],
  ] as const;

  test.each(forms)('arrives with its digits, as %s: 240 of them', async (_, write) => {
    bank.otherwise({ body: {} });
    const batch = 20;
    for (let start = 0; start < decimals.length; start += 2 * batch) {
      const variables: Record<string, string> = {};
      const amount = (index: number) => {
        variables[`v${index}`] = decimals[index] ?? '';
        return `{ amount: ${write(decimals[index] ?? '', `v${index}`)} }`;
      };
      const fields = Array.from({ length: batch }, (_, field) => {
        const [first, second] = [start + 2 * field, start + 2 * field + 1];
        return `f${field}: putTransactionMetadata(input: {
          accountId: "A", transactionId: "T", metadataType: "M"
          transaction: { details: { approvedByIpAddress: "", newBalance: ${amount(first)}, value: ${amount(second)} } }
        }) { trackId }`;
      });
      const declared = fields.join('').includes('$')
        ? `(${Object.keys(variables).map((name) => `$${name}: Decimal!`)})`
        : '';
      const result = await ask(`mutation M${declared} { ${fields.join('\n')} }`, variables);
      expect(result.errors).toBeUndefined();
    }
    const arrived = bank.calls.flatMap(({ body }) =>
      [...body.matchAll(/"amount":([^,}]*)/g)].map(([, text]) => text),
    );
    expect(arrived).toEqual(decimals);
  });

  const putBalance = (amount: string, declared = '') =>
    `mutation M${declared} { putAccount(input: { accountId: "A", account: { balance: { amount: ${amount} } } }) { trackId } }`;

  test.each(['9007199254740993.250', '-0', '0.10', '00'.slice(1), `1${'0'.repeat(400)}`])(
    'also as a default, or inside an input of the variables: %s',
    async (amount) => {
      bank.otherwise({ body: {} });
      const input = { accountId: 'A', account: { balance: { amount } } };
      const results = [
        await ask(putBalance('$a', `($a: Decimal = ${amount})`)),
        await ask(putBalance('$a', `($a: Decimal = "${amount}")`)),
        await ask('mutation M($input: PutAccountInput!) { putAccount(input: $input) { trackId } }', {
          input,
        }),
      ];
      expect(results.flatMap(failuresOf)).toEqual([]);
      for (const call of bank.calls)
        expect(sentJson(call)).toEqual({ balance: { amount: { number: amount } } });
      expect(bank.calls).toHaveLength(3);
    },
  );

  const texts = [
    '1e3',
    '1E3',
    '1.5e-3',
    '+1',
    '01',
    '-01',
    '00',
    ' 1',
    '1 ',
    '1\n',
    '1,00',
    '1,000.00',
    '１',
    '１.５',
    '٣',
    '0x10',
    '0b1',
    'NaN',
    'Infinity',
    '-Infinity',
    '',
    ' ',
    '.5',
    '5.',
    '-',
    '--1',
    '1.2.3',
    '1_000',
    '1n',
    '€1',
    '1\u0000',
    '1\u200b',
    '−1',
    'null',
    'true',
    '9'.repeat(1001),
  ];

  test.each(texts)('is refused as the text %j, in variables and in the query', async (text) => {
    bank.otherwise({ body: {} });
    const variable = await ask(putBalance('$a', '($a: Decimal)'), { a: text });
    const literal = await ask(putBalance(JSON.stringify(text)));
    for (const result of [variable, literal]) {
      expect(result.data ?? null).toBeNull();
      expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual([
        expect.stringMatching(/^(BAD_USER_INPUT|GRAPHQL_VALIDATION_FAILED)$/),
      ]);
    }
    expect(bank.calls).toEqual([]);
  });

  test.each([1, 1.5, 0, -1, 1e21, true, ['1'], { amount: '1' }])(
    'is refused as the JSON value %j, which is no text, alone and inside an input',
    async (value) => {
      bank.otherwise({ body: {} });
      const input = { accountId: 'A', account: { balance: { amount: value } } };
      for (const { errors } of [
        await ask(putBalance('$a', '($a: Decimal)'), { a: value }),
        await ask('mutation M($input: PutAccountInput!) { putAccount(input: $input) { trackId } }', {
          input,
        }),
      ]) {
        expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
        expect(errors?.[0]?.message).toContain('has to be a string');
      }
      expect(bank.calls).toEqual([]);
    },
  );
});
