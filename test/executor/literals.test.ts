import { afterEach, describe, expect, test } from 'vitest';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { prepare, schemaOf, told } from '../support/both-executors.ts';

/**
 * What a client writes is text to whoever runs its operation. graphql-jit made code of it: it replaces these words and
 * what stands behind them, wherever they stand in the source that it generates.
 */
const canary = 'bankqlCanary';
const run = `globalThis.${canary}=1`;
const texts: readonly string[] = [
  `__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d${run}`,
  `__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d0);${run};(0`,
  '__MAGIC_NAN__57f286b9_4c20_487f_b409_79804ddcb4f8',
  '__MAGIC_PLUS_INFINITY__bb201c39_3333_4695_b4ad_7f1722e7aa7a',
  '__MAGIC_MINUS_INFINITY__71d4310a_d4a3_4a05_b1fe_e60779d24998',
  `"+(${run})+"`,
  `'+(${run})+'`,
  `\${${run}}`,
  `\`);${run};(\``,
  `*/${run};/*`,
  `//\n${run}//`,
  `\u2028${run}\u2029`,
  `\\");${run};("\\`,
  `</script><script>${run}</script>`,
  `constructor.constructor("${run}")()`,
];

afterEach(() => {
  expect(Reflect.has(globalThis, canary)).toBe(false);
});

test('the canary sings: what the texts hold is code that would be seen', () => {
  // The one place where it is code.
  Reflect.apply(new Function(run), undefined, []);
  expect(Reflect.get(globalThis, canary)).toBe(1);
  Reflect.deleteProperty(globalThis, canary);
});

const schema = schemaOf(
  `input In { text: String, texts: [String!] }
   type Query { echo(text: String, in: In): String id(id: ID): ID }`,
  {
    'Query.echo': (_source, { text, in: given }) => text ?? given.text ?? given.texts.join(),
    'Query.id': (_source, { id }) => id,
  },
);

describe.each(texts)('%j', (text) => {
  const literal = JSON.stringify(text);

  test.each([
    ['an argument', `{ echo(text: ${literal}) }`],
    ['an id', `{ id(id: ${literal}) }`],
    ['a member of an object', `{ echo(in: { text: ${literal} }) }`],
    ['an entry of a list', `{ echo(in: { texts: [${literal}] }) }`],
    ['a variable’s default', `query ($text: String = ${literal}) { echo(text: $text) }`],
    ['beside a variable', `query ($n: String) { echo(text: $n, in: { texts: [${literal}] }) }`],
  ])('is the same text as %s', async (_where, document) => {
    const { run, reference } = prepare(schema, document);
    const answers = [await run(), await run(), await reference()];
    for (const answer of answers) expect(Object.values(answer.data ?? {})).toEqual([text]);
  });

  test('is the same text as a variable, and in the message of an error', async () => {
    const { run } = prepare(schema, 'query ($text: String) { echo(text: $text) }');
    expect(await run({ text })).toEqual({ data: { echo: text } });
    const failing = schemaOf('type Query { fail(text: String): String }', {
      'Query.fail': (_source, { text }) => {
        throw new Error(text);
      },
    });
    const { run: fail, reference } = prepare(failing, `{ fail(text: ${literal}) }`);
    expect(told(await fail())).toEqual(told(await reference()));
    expect(told(await fail()).errors).toMatchObject([{ message: text }]);
  });

  test('is sent to the bank and answered as it is', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(({ body }) => ({ body }));
    const answer = await fixture.ask(
      `mutation { putProduct(input: { product: { name: ${literal} } }) { product { name } } }`,
    );
    expect(answer).toEqual({ data: { putProduct: { product: { name: text } } } });
    expect(sentJson(onlyCall(fixture.bank))).toMatchObject({ name: text });
  });
});
