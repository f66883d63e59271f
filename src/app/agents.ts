import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import { loadTools } from '../agents/tools.ts';
import type { Config } from '../config/config.ts';
import type { Keys } from '../http/auth/jwks.ts';
import type { TokenRefusal } from '../http/auth/jwt-options.ts';
import type { ServerOptions } from '../http/server.ts';
import type { PaymentStore } from '../payments/store/store.ts';

/** The path of the metadata of a protected resource (RFC 9728), which precedes the resource's own path. */
const metadataPath = '/.well-known/oauth-protected-resource';

/** The tools of the folder MCP_DOCUMENTS; null if it is not set. Errors: StartError. */
export async function readTools({ tools, server: { documentLimits } }: Config, schema: GraphQLSchema) {
  // Errors may suggest names of the schema, because they are for the operator.
  return tools && loadTools(tools.folder, { schema, documentLimits, introspection: true });
}

interface ToolsOptions {
  readonly serving: Omit<ServerOptions, 'tools'> & { readonly schema: GraphQLSchema };
  readonly store: Pick<PaymentStore, 'secret'>;
  /**
   * Verifies the tokens for /graphql; null if there are no tokens. The same keys verify the tokens of agents.
   */
  readonly byToken: { readonly keys: Keys } | null;
  readonly logger: Logger;
  readonly telemetry: { readonly onTokenRefusal: (why: TokenRefusal) => void };
}

/**
 * Opens the endpoint of tools for agents. Returns null if there are no tools; the SDK is then not loaded. Tokens of agents have
 * an audience of their own, so that an agent cannot pay at /graphql, where no person confirms a payment. Errors: StartError.
 */
export async function openTools(
  config: Config,
  { serving, store, byToken, logger, telemetry }: ToolsOptions,
) {
  const tools = await readTools(config, serving.schema);
  if (tools === null) return null;
  const { identity } = config;
  const url = identity && config.tools?.url ? new URL(config.tools.url) : null;
  const resourceMetadata = url && `${url.origin}${metadataPath}${url.pathname}`;
  const ofAgents =
    identity &&
    url &&
    (await import('../http/auth/jwt.ts')).authenticateByToken(
      { ...identity, audience: url.href, refusedAudience: identity.audience, resourceMetadata },
      logger,
      telemetry.onTokenRefusal,
      byToken?.keys,
    );
  const { createToolsEndpoint } = await import('../agents/endpoint.ts');
  const endpoint = createToolsEndpoint({
    ...serving,
    tools,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
    authenticate: ofAgents ?? serving.authenticate,
    metadata:
      identity && url
        ? {
            path: metadataPath + url.pathname,
            json: JSON.stringify({
              resource: url.href,
              authorization_servers: [identity.issuer],
              bearer_methods_supported: ['header'],
              ...(identity.paymentScope ? { scopes_supported: [identity.paymentScope] } : {}),
            }),
          }
        : null,
    scopeChallenge: [
      ...(identity?.paymentScope ? [`scope="${identity.paymentScope}"`] : []),
      ...(resourceMetadata ? [`resource_metadata="${resourceMetadata}"`] : []),
    ],
    secret: () => store.secret,
  });
  return {
    endpoint,
    reload: async () => {
      const reloaded = await readTools(config, serving.schema);
      if (reloaded !== null) endpoint.replaceTools(reloaded);
    },
  };
}
