import './fields.ts';
import './link.ts';
import './list.ts';
import './schema-builder.ts';
import SchemaBuilder, {
  BasePlugin,
  type BuildCache,
  type PothosInputFieldConfig,
  type PothosOutputFieldConfig,
  resolveInputTypeConfig,
  type SchemaTypes,
  unwrapInputFieldType,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { earlyResolver, knownResolver, ofSource, sameAs } from '../../executor/known-resolvers.ts';
import { isObject } from '../../is-object.ts';
import { notGlobalId } from './global-id.ts';
import { bankRefs } from './node.ts';

/**
 * The Pothos plugin for the bank's records. global-types.ts declares its methods on the builders; schema-builder.ts,
 * link.ts, list.ts and fields.ts have them.
 */
export class BankPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  /** Puts what a field's options say into its extensions, for links (link.ts). */
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { pothosOptions, parentType, extensions, type } = config;
    const resolve = pothosOptions.resolverOn?.(parentType) ?? config.resolve;
    const exposed = extensions?.pothosExposedField;
    const { payment } = pothosOptions;
    const isKey = typeof exposed === 'string' && bankRefs.get(parentType)?.names.includes(exposed);
    const fromIds = pothosOptions.fromIds ?? (isKey || undefined);
    if (fromIds === undefined && payment === undefined) return { ...config, resolve };
    if (fromIds && resolve !== undefined) {
      // What is below an object is read: it begins while the parent's record is being read.
      if (type.kind !== 'Scalar') earlyResolver(resolve);
      else if (resolve.length === 1 && knownResolver(resolve).property === undefined)
        ofSource(resolve as (source: unknown) => unknown);
    }
    return { ...config, resolve, extensions: { ...extensions, bankql: { fromIds, payment } } };
  }

  /** Refuses global ids where a field takes ids of the bank's. A payment does so itself, since its failures are data. */
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { args, pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const paths = pothosOptions.payment ? [] : bankIdsIn(args, this.buildCache);
    if (paths.length === 0) return resolver;
    return sameAs((parent, given, context, info) => {
      for (const path of paths) refuseGlobalIds(given, path);
      return resolver(parent, given, context, info);
    }, resolver);
  }
}

/** The paths of the arguments that take ids of the bank's. */
function bankIdsIn<Types extends SchemaTypes>(
  fields: Readonly<Record<string, PothosInputFieldConfig<Types>>>,
  buildCache: BuildCache<Types>,
  above: readonly string[] = [],
): (readonly string[])[] {
  return Object.entries(fields).flatMap(([name, { type, pothosOptions }]) => {
    const path = [...above, name];
    const { kind, name: typeName } = resolveInputTypeConfig(type, buildCache);
    if (kind !== 'InputObject') return typeName === 'ID' && !pothosOptions.isGlobalId ? [path] : [];
    return bankIdsIn(buildCache.getInputTypeFieldConfigs(unwrapInputFieldType(type)), buildCache, path);
  });
}

/** Errors: BAD_USER_INPUT for a global id at a path. The only argument of a mutation, `input`, is not named. */
function refuseGlobalIds(value: unknown, path: readonly string[], at = 0): void {
  const [step] = path.slice(at);
  if (Array.isArray(value)) for (const entry of value) refuseGlobalIds(entry, path, at);
  else if (typeof value === 'string') notGlobalId(path.join('.').replace(/^input\./, ''), value);
  else if (step !== undefined && isObject(value)) refuseGlobalIds(value[step], path, at + 1);
}

const pluginName = 'bank';

SchemaBuilder.registerPlugin(pluginName, BankPlugin);

export default pluginName;
