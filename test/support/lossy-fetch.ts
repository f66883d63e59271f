/** The fate of a request: it is lost before it arrives, its answer is lost, or it first waits for a promise. */
export type Loss = 'request' | 'answer' | null | (() => Promise<unknown>);

interface LossyFetch {
  (url: string, init: RequestInit): Promise<Response>;
  /** The bodies of all requests so far, including lost ones. */
  readonly bodies: { readonly query?: string; readonly variables?: Record<string, unknown> }[];
}

/**
 * A network that loses requests and answers. `losses` returns the fate of each request, given its body and its
 * number.
 */
export function lossyFetch(losses: (body: string, nth: number) => Loss = () => null): LossyFetch {
  const bodies: LossyFetch['bodies'] = [];
  const send = async (url: string, init: RequestInit) => {
    const body = String(init.body);
    const loss = losses(body, bodies.length);
    bodies.push(JSON.parse(body));
    if (loss === 'request') throw new TypeError('fetch failed');
    if (typeof loss === 'function') await loss();
    const response = await fetch(url, init);
    if (loss !== 'answer') return response;
    await response.arrayBuffer();
    throw new TypeError('terminated');
  };
  return Object.assign(send, { bodies });
}
