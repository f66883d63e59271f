/** What becomes of one request: it is lost before it arrives, its answer is lost, or it waits for something first. */
export type Loss = 'request' | 'answer' | null | (() => Promise<unknown>);

interface LossyFetch {
  (url: string, init: RequestInit): Promise<Response>;
  /** The bodies of all requests so far, lost or not. */
  readonly bodies: { readonly query?: string; readonly variables?: Record<string, unknown> }[];
}

/** A network that loses what it is told: `losses` is asked for each request, by its body and how many came before. */
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
