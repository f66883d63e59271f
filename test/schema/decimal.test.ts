import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failuresOf, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

const seed = 20_261_120;

/** Decimals of up to 30 digits before the point and 30 after it, as in JSON and GraphQL. */
const digits = (min: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: 30 }).map((all) => all.join(''));
const decimal = fc.tuple(fc.boolean(), digits(1), digits(0)).map(([negative, whole, fraction]) => {
  const left = whole.replace(/^0+(?=.)/, '');
  return `${negative ? '-' : ''}${left}${fraction === '' ? '' : `.${fraction}`}`;
});
const decimals = fc.sample(decimal, { seed, numRuns: 240 });

/** Requests with these amounts, written unchanged. */
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
  test('keeps all its digits: 240 random amounts', async () => {
    expect(new Set(decimals).size).toBeGreaterThan(216);
    bank.otherwise(listOf(decimals));
    const result = await ask(amountsQuery);
    expect(result.errors).toBeUndefined();
    expect(amountsIn(result.data)).toEqual(decimals);
  });

  test('is written without an exponent', async () => {
    const plain = {
      '1e3': '1000',
      '1E+3': '1000',
      '1.5e3': '1500',
      '1.50e1': '15.0',
      '1.5e-3': '0.0015',
      '-2.50e+2': '-250',
      '-2.5e-1': '-0.25',
      '12.34e0': '12.34',
      '12.34e-0': '12.34',
      '0e5': '0',
      '0.00e1': '0.0',
      '123456789012345678901234567890.5e1': '1234567890123456789012345678905',
      '1e400': `1${'0'.repeat(400)}`,
      '1e-400': `0.${'0'.repeat(399)}1`,
      '-0': '-0',
    };
    bank.otherwise(listOf(Object.keys(plain)));
    expect(amountsIn((await ask(amountsQuery)).data)).toEqual(Object.values(plain));
  });

  test('with an exponent is expanded exactly: 300 random amounts', async () => {
    /** The value of a decimal as an integer, and the number of its decimal places. */
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

  test('that is no number is null with BANK_BAD_RESPONSE, and other amounts are answered', async () => {
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

  test.each(forms)('reaches the bank with all its digits, as %s: 240 random amounts', async (_, write) => {
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

  const inVariables = 'mutation M($input: PutAccountInput!) { putAccount(input: $input) { trackId } }';
  const inputWith = (amount: unknown) => ({ input: { accountId: 'A', account: { balance: { amount } } } });

  test('reaches the bank with all its digits as a default value and within an input variable', async () => {
    bank.otherwise({ body: {} });
    for (const amount of ['9007199254740993.250', '-0', '0.10', '0', `1${'0'.repeat(400)}`]) {
      bank.calls.length = 0;
      const results = [
        await ask(putBalance('$a', `($a: Decimal = ${amount})`)),
        await ask(putBalance('$a', `($a: Decimal = "${amount}")`)),
        await ask(inVariables, inputWith(amount)),
      ];
      expect(results.flatMap(failuresOf)).toEqual([]);
      const sent = { balance: { amount: { number: amount } } };
      expect(bank.calls.map(sentJson)).toEqual([sent, sent, sent]);
    }
  });

  test('is refused if its text is no decimal number, in variables and in the query', async () => {
    const texts =
      '1e3 1E3 1.5e-3 +1 01 -01 00 1,00 1,000.00 １ １.５ ٣ 0x10 0b1 NaN Infinity -Infinity .5 5. - --1 1.2.3 1_000 1n €1 −1 null true';
    for (const text of [
      ...texts.split(' '),
      '',
      ' ',
      ' 1',
      '1 ',
      '1\n',
      '1\0',
      '1\u200b',
      '9'.repeat(1001),
    ]) {
      const variable = await ask(putBalance('$a', '($a: Decimal)'), { a: text });
      const literal = await ask(putBalance(JSON.stringify(text)));
      for (const { data = null, errors } of [variable, literal])
        expect([text, data, errors?.map(({ extensions }) => extensions.code)]).toEqual([
          text,
          null,
          [expect.stringMatching(/^(BAD_USER_INPUT|GRAPHQL_VALIDATION_FAILED)$/)],
        ]);
    }
    expect(bank.calls).toEqual([]);
  });

  test('is refused as a JSON value that is no string, alone and within an input', async () => {
    for (const value of [1, 1.5, 0, -1, 1e21, true, ['1'], { amount: '1' }]) {
      for (const { errors } of [
        await ask(putBalance('$a', '($a: Decimal)'), { a: value }),
        await ask(inVariables, inputWith(value)),
      ])
        expect([value, errors]).toMatchObject([
          value,
          [
            {
              message: expect.stringContaining('has to be a string'),
              extensions: { code: 'BAD_USER_INPUT' },
            },
          ],
        ]);
    }
    expect(bank.calls).toEqual([]);
  });
});
