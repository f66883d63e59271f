import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'graphql-yoga';
import { serveBankql } from './app/app.ts';
import type { CliContext } from './commands/command.ts';
import { readConfig } from './config/config.ts';
import { ConfigError, resolveEnvironment } from './config/environment.ts';
import { StartError } from './errors.ts';

export { ConfigError } from './config/environment.ts';
export { type ErrorCode, errorCodes, StartError } from './errors.ts';
export { schema } from './schema/schema.ts';
export { version } from './version.ts';

/** A running bankql. */
export interface Bankql {
  /** The address, such as `http://127.0.0.1:4000`; GraphQL is at `/graphql`. */
  readonly url: string;
  /** Reloads the manifest, the tools for agents, the keys and the certificates, as SIGHUP does. Never rejects. */
  reload(): Promise<void>;
  /** Lets requests and payments in progress end, and closes the server. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** The variables of docs/configuration.md by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Files with further variables, as for `--env-file`. */
  readonly envFiles?: readonly string[];
  /** Receives the text that the command prints when it listens; by default the text is dropped. */
  readonly write?: (text: string) => void;
  /** The name of this process in the records of payments (default: `bankql`). */
  readonly replica?: string;
  /** Further plugins of graphql-yoga or Envelop. Their hooks for operations are called for every operation. */
  readonly plugins?: readonly Plugin[];
}

export interface MountOptions extends StartOptions {
  /**
   * The end of GraphQL's path (default: `/graphql`). It matters if the host passes on the full path of a request, as with
   * `fetch`.
   */
  readonly path?: string;
}

/** bankql mounted in a server of another framework. GraphQL is at the mount point, and at each path that ends in `path`. */
export interface MountedBankql extends Pick<Bankql, 'reload'> {
  /** A Fetch handler: for Next.js, Hono and others. It never rejects. */
  fetch(request: Request): Promise<Response>;
  /**
   * A listener for node:http: for Express, Fastify and others. It uses `request.body` if a parser has read the body. Never
   * rejects.
   */
  node(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse): Promise<void>;
  /** Lets requests and payments in progress end, and closes the bank's connections and the payment store. */
  close(): Promise<void>;
}

/**
 * Creates bankql without a server of its own; HOST and PORT have no effect. A start that fails leaves nothing behind.
 * Errors: StartError; a ConfigError if variables are invalid.
 */
export async function createBankql(options: MountOptions): Promise<MountedBankql> {
  const { path = '/graphql', plugins } = options;
  if (!path.startsWith('/')) throw new StartError('path: begin it with a slash, such as /graphql.');
  const service = await serveBankql(contextOf(options), { isMounted: true, path, plugins });
  const { fetch, node, reload } = service;
  return { fetch, node, reload, close: async () => void (await service.stop()) };
}

/**
 * Serves GraphQL from your own process, as the command `bankql` does. It installs no signal handlers: call `stop` before the
 * process ends. A start that fails leaves nothing behind.
 * Errors: StartError; a ConfigError if variables are invalid.
 */
export async function startBankql(options: StartOptions): Promise<Bankql> {
  const service = await serveBankql(contextOf(options), { plugins: options.plugins });
  const { url, reload } = service;
  return { url, reload, stop: async () => void (await service.stop()) };
}

/**
 * The context of a bankql that code starts. The command `bankql` gets its context from the process.
 * Errors: StartError.
 */
function contextOf({
  environment,
  envFiles = [],
  write = () => {},
  replica = 'bankql',
}: StartOptions): CliContext {
  const resolved = resolveEnvironment(environment, envFiles);
  const { workers } = readConfig(resolved.environment);
  if (workers > 1) {
    const remedy = 'it is for the command bankql: from code, start it in processes of your own.';
    throw new ConfigError([{ variable: 'WORKERS', value: String(workers), remedy }]);
  }
  return {
    ...resolved,
    replica,
    write,
    // `write` receives the text that a terminal would show, and not lines of the log.
    isTerminal: true,
    writeError: () => {},
    // Registers nothing for the end of the process, because `stop` does that work.
    onExit: () => {},
    ask: null,
  };
}
