import { BlockList, isIP } from 'node:net';
import { portOf } from '../bank/http-message.ts';
import type { Values } from './variables.ts';

/** The proxy, if NO_PROXY lets it be used for an address, and this is https. */
function usualProxy(proxy: string | undefined, { NO_PROXY = '' }: Values, url: string): string | null {
  const isHttps = URL.parse(url)?.protocol === 'https:';
  return proxy === undefined || !isHttps || bypassesProxy(NO_PROXY, url) ? null : proxy;
}

/** The proxy through which the bank is reached; null for none, as for the sandbox bank. */
export function bankProxyOf(values: Values): string | null {
  const { BANK_BASE_URL, BANK_PROXY, HTTPS_PROXY } = values;
  if (BANK_BASE_URL === undefined) return null;
  return BANK_PROXY ?? usualProxy(HTTPS_PROXY, values, BANK_BASE_URL);
}

/** The proxy through which the keys of tokens are fetched; null for none. */
export const jwksProxyOf = (values: Values, jwksUrl: string): string | null =>
  usualProxy(values.BANK_PROXY ?? values.HTTPS_PROXY, values, jwksUrl);

const plainHost = (host: string) =>
  host
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/(.)\.$/, '$1')
    .toLowerCase();

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Whether an entry such as `10.0.0.0/8` covers the address of a host. */
function coversAddress(entry: string, host: string): boolean {
  const [, network = '', bits = ''] = /^([\da-f.:]+)\/(\d{1,3})$/i.exec(entry) ?? [];
  if (isIP(network) === 0 || isIP(host) === 0 || Number(bits) > (isIP(network) === 6 ? 128 : 32))
    return false;
  const block = new BlockList();
  block.addSubnet(network, Number(bits), familyOf(network));
  return block.check(host, familyOf(host));
}

/**
 * Whether NO_PROXY lets a URL be reached directly: names and addresses separated by commas or white space, each with what
 * is below it; `*.name` for only what is below it, `name:port` for one port, `*` for everything, `10.0.0.0/8` for the addresses of a
 * network.
 */
export function bypassesProxy(noProxy: string, url: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const host = plainHost(hostname);
  const ownPort = portOf({ protocol, port });
  return noProxy
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (coversAddress(entry, host)) return true;
      // A bare address of IPv6 has several colons, and no port.
      const [, named = entry, onlyPort = ownPort] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
      const excepted = plainHost(named.replace(/^\*?\./, ''));
      const isItself = host === excepted && !named.startsWith('*.');
      return onlyPort === ownPort && (excepted === '*' || isItself || host.endsWith(`.${excepted}`));
    });
}
