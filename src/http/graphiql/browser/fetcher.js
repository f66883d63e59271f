const explainHeader = 'x-bankql-explain';

/**
 * @typedef {{ query: string, operationName?: string | null, variables?: unknown }} Params
 * @typedef {{ headers?: Record<string, string> }} Options
 * @typedef {import('./calls-panel.js').Explained} Explained
 */

/**
 * How GraphiQL asks bankql. While `asksForCalls` says so, operations are sent with x-bankql-explain, and their calls go to
 * `onCalls` instead of into the answer that is shown; null if it was refused, and made none.
 *
 * @param {{ asksForCalls: () => boolean, onCalls: (explained: Explained | null, name: string) => void }} panel
 */
export function createFetcher({ asksForCalls, onCalls }) {
  return async (/** @type {Params} */ params, /** @type {Options} */ { headers = {} } = {}) => {
    const { query, operationName, variables } = params;
    const isOwn = Object.keys(headers).some((name) => name.toLowerCase() === explainHeader);
    const asks = asksForCalls() && !isOwn && operationName !== 'IntrospectionQuery';
    const response = await fetch(location.pathname, {
      method: 'POST',
      headers: {
        Accept: 'application/graphql-response+json, application/json',
        'Content-Type': 'application/json',
        ...(asks ? { [explainHeader]: 'calls' } : {}),
        ...headers,
      },
      body: JSON.stringify({ query, operationName, variables }),
    });
    const result = await resultOf(response);
    const { explain, ...extensions } = result.extensions ?? {};
    if (!asks) return result;
    onCalls(explain ?? null, operationName ?? 'The operation');
    const { extensions: _, ...rest } = result;
    return Object.keys(extensions).length === 0 ? rest : { ...rest, extensions };
  };
}

/** @param {Response} response */
async function resultOf(response) {
  if (/json/.test(response.headers.get('Content-Type') ?? '')) return response.json();
  throw new Error(`${location.host} answered ${response.status} with something other than JSON.`);
}
