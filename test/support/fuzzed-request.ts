import fc from 'fast-check';
import { anyCharacter } from './any-text.ts';

/** Requests as nobody should send them: documents that are valid, nearly valid or not at all; variables; headers. */

const oneOf = (words: string) => fc.constantFrom(...words.split(' '));

const name = oneOf(
  'bank node nodes payment metadata account customer branches branch accounts owners otherAccounts edges totalCount pageInfo label balance amount id bankId __typename __proto__ constructor prototype toString __schema makeTransaction nope',
);
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  oneOf(`.. .  a/b %2e%2e a\u202eb \ud800 __proto__ ${'x'.repeat(200)} 1e3 -0`),
);
const value: fc.Arbitrary<string> = fc.oneof(
  text.map((written) => JSON.stringify(written)),
  oneOf('1 -1 1.5 1e999 true null VIEWS [] {} [["x"]] $v {id:"x"} """block"""'),
);
const argument = fc.tuple(
  oneOf('id ids accountId bankId viewId first after filter scope input __proto__'),
  value,
);

const { selection } = fc.letrec<{ selection: string; field: string }>((tie) => ({
  selection: fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: tie('field') },
        { weight: 1, arbitrary: fc.constantFrom('...F', '... on Account { label }', '... on Node { id }') },
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((fields) => `{ ${fields.join(' ')} }`),
  field: fc
    .tuple(
      fc.option(fc.constantFrom('a', 'b', '__proto__'), { nil: undefined }),
      name,
      fc.array(argument, { maxLength: 2 }),
      fc.constantFrom('', '', '', '@skip(if: true)', '@include(if: $v)', '@nope'),
      fc.option(tie('selection'), { nil: '', freq: 2, maxDepth: 6 }),
    )
    .map(
      ([alias, field, args, directive, below]) =>
        `${alias === undefined ? '' : `${alias}: `}${field}${
          args.length === 0 ? '' : `(${args.map(([key, given]) => `${key}: ${given}`).join(', ')})`
        } ${directive} ${below}`,
    ),
}));

const document = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        ...['query', 'mutation', 'subscription', 'query Q($v: Boolean = true)', 'query ($v: Decimal)', ''],
      ),
      selection,
      fc.constantFrom('', ' fragment F on Bank { bankId }', ' fragment F on Query { ...F }'),
    )
    .map((parts) => parts.join(' ')),
  text,
);

const body = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(document, fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 1 }))
      .map(([query, variables, operationName]) =>
        JSON.stringify({
          query,
          variables: { v: variables },
          operationName: typeof operationName === 'string' ? operationName : undefined,
        }),
      ),
  },
  { weight: 2, arbitrary: document.map((query) => JSON.stringify({ query })) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constant('{"query":"{__typename}","variables":{"__proto__":{"polluted":true}}}'),
  },
);

/** What a header may hold on its way through an HTTP client. */
const headerText = fc.stringMatching(/^[!-~]([ -~\u00a1-\u00ff]{0,30}[!-~])?$/);

const headers = fc
  .record(
    {
      'Ocp-Apim-Subscription-Key': headerText,
      'Auth-Provider-Name': headerText,
      'Auth-ID': headerText,
      Accept: oneOf(
        '*/* application/json application/graphql-response+json text/event-stream multipart/mixed text/html',
      ),
      'X-Request-Id': headerText,
    },
    { requiredKeys: [] },
  )
  .map((given) => ({ 'Content-Type': 'application/json', ...given }));

export const fuzzedRequest = fc.record({ body, headers });
