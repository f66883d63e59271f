import { GraphQLError } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads what is sent as it stands, or not at all: yoga takes bytes that are no UTF-8 for U+FFFD, and of two members
 * with one name the last; where the JSON of a URL is none, its answer is a 500.
 */
export function useStrictJson(): Plugin {
  return {
    onRequestParse: ({ request, requestParser, setRequestParser }) => {
      if (requestParser === undefined) return;
      setRequestParser(
        request.method === 'POST'
          ? async (posted) => parseBody(await posted.arrayBuffer())
          : async (asked) => {
              try {
                return await requestParser(asked);
              } catch (error) {
                throw error instanceof SyntaxError ? refusal('The URL holds JSON that is none.') : error;
              }
            },
      );
    },
  };
}

function parseBody(bytes: ArrayBuffer): GraphQLParams {
  let fault: string | null;
  let body: unknown;
  try {
    const text = utf8.decode(bytes);
    fault = faultOf(text);
    if (fault === null) body = JSON.parse(text);
  } catch {
    fault = 'is not JSON in UTF-8';
  }
  if (fault === null && (typeof body !== 'object' || body === null)) fault = 'is not a JSON object';
  if (fault !== null) throw refusal(`The body ${fault}.`);
  // yoga looks at its members next, and refuses a batch.
  return body as GraphQLParams;
}

/** No input of the schema is half as deep. */
const mostLevels = 32;
/** Texts, objects and lists in a body: more of them cost time, and no operation needs them. */
const mostParts = 4000;

/** What JSON.parse would let pass: JSON that is too deep or has too many parts, or two members of one name. */
function faultOf(text: string): string | null {
  const open: (Set<string> | null)[] = [];
  let parts = 0;
  for (const [token, name, colon] of text.matchAll(/[{}[\]]|("(?:[^"\\]|\\.)*")\s*(:?)/g)) {
    if (++parts > mostParts) return `has more than ${mostParts} parts`;
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (name === undefined) open.pop();
    else if (colon === ':') {
      const names = open.at(-1);
      const plain: string = JSON.parse(name);
      if (names?.has(plain)) return 'names a member twice in one object';
      names?.add(plain);
    }
    if (open.length > mostLevels) return `is more than ${mostLevels} levels deep`;
  }
  return null;
}

const refusal = (message: string) =>
  new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT', http: { status: 400, spec: false } } });
