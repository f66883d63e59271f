import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from './http-error.ts';

/** Below this path are the sandbox's own switches, beside the bank's paths. */
const switches = '/sandbox/';

const isLoopback = (host: string) =>
  /^(localhost|127(\.\d+){3}|\[?(::1|::ffff:127(\.\d+){3})\]?)$/.test(host);

const isLocalUrl = (url: string) => isLoopback(URL.parse(url)?.hostname ?? '');

/**
 * Whether a request may come from another machine, or from a page of another site that a browser here has opened:
 * through that site's name for this machine (DNS rebinding), the page would read the answers too.
 */
const isForeign = ({ headers: { host, origin } }: FastifyRequest) =>
  (host !== undefined && !isLocalUrl(`http://${host}`)) || (origin !== undefined && !isLocalUrl(origin));

/**
 * The rule for all routes: switches are for this machine, and so is everything while the sandbox listens on loopback.
 * Errors: HttpError 403.
 */
export function addLocalOnlyRule(app: FastifyInstance, host: string): void {
  const isLocalServer = isLoopback(host);
  app.addHook('onRequest', async (request) => {
    const isSwitch = request.url.startsWith(switches);
    if ((isSwitch && !isLoopback(request.ip)) || ((isSwitch || isLocalServer) && isForeign(request)))
      throw new HttpError(403, 'Only this machine may use this address of the sandbox');
  });
}
