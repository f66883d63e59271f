import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';

/** No tunnel to the bank: the proxy refuses it, or cannot be reached. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

interface Target {
  readonly protocol: string;
  /** With its port, where that is not the protocol's own. */
  readonly host?: string | undefined;
  readonly hostname: string;
  readonly port: string;
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** A socket to the target through the proxy (CONNECT). Errors: ProxyError. */
export async function openTunnel(proxyUrl: string, target: Target, timeoutMs: number): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const hostname = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname;
  const authority = `${hostname}:${target.port || defaultPorts[target.protocol]}`;
  // One for each tunnel, which takes its connection along.
  const client = new Client(proxy.origin, {
    connect: buildConnector({ allowH2: false, timeout: timeoutMs, autoSelectFamily: true }),
  });
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { host: authority, ...credentialsOf(proxy) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (statusCode === 200) return socket as Socket;
    socket.on('error', () => {}).destroy();
    throw new ProxyError(
      statusCode === 407
        ? 'the proxy wants credentials, or others (407)'
        : `the proxy refuses the way to the bank with status ${statusCode}`,
    );
  } catch (error) {
    if (error instanceof ProxyError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ProxyError(`the proxy cannot be reached, or does not answer: ${reason}`, { cause: error });
  } finally {
    void client.destroy();
  }
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(plain).toString('base64')}` };
}
