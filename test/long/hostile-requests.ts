import { Agent } from 'undici';

/** A request that must be refused; a GET if it has no body. */
export interface Hostile {
  readonly what: string;
  readonly body?: string | Buffer<ArrayBuffer>;
  /** The text after the endpoint's path. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);
const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
const document = (what: string, query: string): Hostile => ({ what, body: JSON.stringify({ query }) });
const variable = (what: string, query: string, json: string): Hostile => ({
  what,
  body: `{"query":${JSON.stringify(query)},"variables":{"v":${json}}}`,
});

const account = 'query ($v: ID!) { bank { account(accountId: $v) { label } } }';
const put = 'mutation ($v: AccountInput!) { putAccount(input: { accountId: "a", account: $v }) { trackId } }';
const nodes = 'query ($v: [ID!]!) { nodes(ids: $v) { id } }';
const doubling = `{ bank { ...F0 } } ${times(17, (n) => `fragment F${n} on Bank { ...F${n + 1} ...G${n} } fragment G${n} on Bank { ...F${n + 1} }`)} fragment F17 on Bank { bankId }`;

/** The hostile requests of the tests, as large as a body may be. */
export const hostileRequests: readonly Hostile[] = [
  document('300 levels', `${times(300, () => '{ bank')} { bankId }${' }'.repeat(300)}`),
  document('6,000 levels', `${times(6000, () => '{ bank')} { bankId }${' }'.repeat(6000)}`),
  document('101 aliases', `{ ${times(101, (n) => `a${n}: __typename`)} }`),
  document('10,000 aliases', `{ ${times(10_000, (n) => `a${n}:id`)} }`),
  document('501 times the same field', `{ bank { ${times(501, () => 'bankId')} } }`),
  document(
    '490 times the same field, aliased',
    `{ bank { ${times(245, (n) => `a${n}: messages { totalCount }`)} } }`,
  ),
  document(
    '3,000 times the same field, fields below',
    `{ bank { ${times(3000, () => 'messages { totalCount }')} } }`,
  ),
  document('600 unknown fields', `{ ${times(600, (n) => `x${n}`)} }`),
  document('21 directives', `{ bank { bankId ${times(21, () => '@include(if: true)')} } }`),
  document('500 unknown directives', `{ __typename ${times(500, () => '@aa')} }`),
  document('fragments in a ring', '{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }'),
  document('fragments that double, 2^17 fields', doubling),
  document(
    'two payments',
    `mutation { ${times(2, (n) => `a${n}: makeTransaction(input: { accountId: "a", to: { accountId: "x" }, value: { amount: 1 }, idempotencyKey: "k" }) { payment { trackId } }`)} }`,
  ),
  document('a list literal 900 levels deep', `{ bank(bankId: ${deep('[', ']', 900)}) { bankId } }`),
  document(
    'a text literal of 90 kB',
    `{ bank { account(accountId: ${JSON.stringify('x'.repeat(90_000))}) { label } } }`,
  ),
  document('introspection', '{ __schema { types { name fields { name } } } }'),
  document('a subscription', 'subscription { bank { bankId } }'),
  variable('a list 49,000 levels deep', account, deep('[', ']', 49_000)),
  variable('an object 16,000 levels deep', account, `${'{"a":'.repeat(16_000)}1${'}'.repeat(16_000)}`),
  variable('7,000 fields that are none', put, `{"balance":{},${times(7000, (n) => `"k${n}":1`, ',')}}`),
  variable(
    '20,000 values that are wrong',
    put,
    `{"balance":{},"ownerIds":[${times(20_000, () => '{}', ',')}]}`,
  ),
  variable('an amount of 90,000 digits', put, `{"balance":{"amount":"${'9'.repeat(90_000)}"}}`),
  variable('30,000 ids that are none', nodes, `[${times(30_000, () => '""', ',')}]`),
  variable('__proto__ in a variable', put, '{"balance":{},"__proto__":{"label":"x"}}'),
  { what: 'a batch of 1,000', body: `[${times(1000, () => '{"query":"{__typename}"}', ',')}]` },
  { what: 'a body that is too long', body: 'x'.repeat(150_000) },
  { what: 'a body that is no JSON', body: '{'.repeat(99_000) },
  {
    what: 'invalid UTF-8',
    body: Buffer.from('{"query":"{bank{account(accountId:\\"\xff\\"){label}}}"}', 'latin1'),
  },
  { what: 'a body as a form', body: 'query={__typename}', headers: { 'Content-Type': 'text/plain' } },
  { what: 'a URL with broken variables', url: '?query={__typename}&variables={' },
  { what: 'a mutation by GET', url: '?query=mutation{putProduct(input:{product:{}}){trackId}}' },
];

/** Sends requests as one caller, over its own connections, so that other callers' requests do not affect it. */
export function createSender(origin: string, authId: string) {
  const agent = new Agent();
  return {
    /** Returns the answer, with status 0 if no answer came, and its duration in milliseconds. */
    async send({ url = '', body, headers }: Omit<Hostile, 'what'>) {
      const started = performance.now();
      const response = await agent
        .request({
          origin,
          path: `/graphql${url}`,
          method: body === undefined ? 'GET' : 'POST',
          headers: {
            'Content-Type': 'application/json',
            'Ocp-Apim-Subscription-Key': 'key',
            'Auth-Provider-Name': 'provider',
            'Auth-ID': authId,
            ...headers,
          },
          ...(body === undefined ? {} : { body }),
        })
        .then(async (answer) => ({ status: answer.statusCode, text: await answer.body.text() }))
        .catch((error: unknown) => ({ status: 0, text: String(error) }));
      return { milliseconds: performance.now() - started, ...response };
    },
    close: () => agent.destroy(),
  };
}
