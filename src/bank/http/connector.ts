import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { openTunnel } from './proxy-tunnel.ts';

/** How the bank is reached, where that is not by the shortest way. */
export interface NetworkOptions {
  /** The client certificate that the bank is shown, and the authorities that vouch for the bank's; Node's where left out. */
  readonly secureContext?: SecureContext | undefined;
  /** The proxy through which it is reached; null for none. */
  readonly proxyUrl?: string | null | undefined;
  /** From when on a kept connection is opened anew before it is used again, in milliseconds; 0 for never. */
  readonly connectionMaxAgeMs?: number | undefined;
}

/** Opens connections to the bank. One for all of them, so that one takes up the TLS session of another. */
export interface Connector {
  readonly connect: buildConnector.connector;
  /** Counts the certificates: what was opened with earlier ones is out of date. */
  readonly generation: number;
  /** From now on connections are opened with these. */
  useTls(secureContext: SecureContext): void;
}

/** HTTP/2 is off: see transport.ts. Of several addresses of a name, IPv6 and IPv4, the first that answers is taken. */
export function createConnector(
  { secureContext, proxyUrl = null }: NetworkOptions,
  timeoutMs: number,
): Connector {
  const directly = (context: SecureContext | undefined) =>
    buildConnector({
      allowH2: false,
      timeout: timeoutMs,
      autoSelectFamily: true,
      ...(context === undefined ? {} : { secureContext: context }),
    });
  let connectDirectly = directly(secureContext);
  let generation = 0;

  const connectThrough =
    (proxy: string): buildConnector.connector =>
    (options, callback) => {
      openTunnel(proxy, options, timeoutMs).then(
        (socket) => {
          if (options.protocol === 'https:') connectDirectly({ ...options, httpSocket: socket }, callback);
          else callback(null, socket);
        },
        (error: Error) => callback(error, null),
      );
    };

  return {
    connect:
      proxyUrl === null
        ? (options, callback) => connectDirectly(options, callback)
        : connectThrough(proxyUrl),
    get generation() {
      return generation;
    },
    useTls(context) {
      connectDirectly = directly(context);
      generation++;
    },
  };
}
