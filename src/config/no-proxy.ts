interface Exception {
  readonly host: string;
  /** Null for any. */
  readonly port: string | null;
  /** Whether only names below the host are meant: `*.example.com`. */
  readonly onlyBelow: boolean;
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

const plainHost = (host: string) =>
  host
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/(.)\.$/, '$1')
    .toLowerCase();

function exceptionOf(entry: string): Exception {
  // A bare address of IPv6 has several colons, and no port.
  const [, named, port] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
  const host = named ?? entry;
  return {
    host: plainHost(host.replace(/^\*?\./, '')),
    port: port ?? null,
    onlyBelow: host.startsWith('*.'),
  };
}

/**
 * Whether NO_PROXY lets a URL be reached directly: names and addresses separated by commas or white space, each with what
 * is below it; `*.name` for what is below it alone, `name:port` for one port, `*` for everything.
 */
export function bypassesProxy(noProxy: string, url: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const host = plainHost(hostname);
  const ownPort = port || defaultPorts[protocol];
  return noProxy
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .map(exceptionOf)
    .some(
      (exception) =>
        (exception.port === null || exception.port === ownPort) &&
        (exception.host === '*' ||
          (!exception.onlyBelow && host === exception.host) ||
          host.endsWith(`.${exception.host}`)),
    );
}
