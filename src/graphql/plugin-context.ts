import type { Plugin } from 'graphql-yoga';
import type { ExecutableOperation } from './documents.ts';
import type { EngineRequest, OperationContext } from './operation-context.ts';
import type { OperationParams } from './params.ts';

/** The part of yoga's context that bankql's plugins share. Each member is set by the plugin that its description names. */
export interface PluginContext {
  /** The caller, and how the request was sent. */
  readonly asking: EngineRequest;
  /** The requested operation (use-documents). */
  askedFor?: OperationParams;
  operation?: ExecutableOperation;
  /** The context of the resolvers, with the budget of the answer (use-execution). */
  run?: OperationContext;
}

// A type, because yoga's contexts have an index signature.
type Shared = { [Member in keyof PluginContext]: PluginContext[Member] };

/** A plugin of bankql: a plugin of yoga that finds PluginContext in its hooks. */
export type BankqlPlugin = Plugin<Shared, Shared>;

/** A member that an earlier plugin has set. */
export function found<T>(member: T | undefined): T {
  if (member === undefined) throw new Error('a plugin of bankql runs before the one that it needs');
  return member;
}
