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
import { bankRefs } from './bank-ref.ts';
import { notGlobalId } from './global-id.ts';

/**
 * The Pothos plugin for the bank's records. global-types.ts declares its methods on the builders;
 * schema-builder.ts, link.ts, list.ts and fields.ts implement them.
 */
export class BankPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  /** Copies a field's options into its extensions, for links (link.ts). */
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { pothosOptions, parentType, extensions, type } = config;
    const resolve = pothosOptions.resolverOn?.(parentType) ?? config.resolve;
    const exposed = extensions?.pothosExposedField;
    const { payment } = pothosOptions;
    const isKey = typeof exposed === 'string' && bankRefs.get(parentType)?.names.includes(exposed);
    const fromIds = pothosOptions.fromIds ?? (isKey || undefined);
    if (fromIds === undefined && payment === undefined) return { ...config, resolve };
    if (fromIds && resolve !== undefined) {
      // A field whose type is an object leads to a read, so it is resolved early, while the parent's record
      // is being read.
      if (type.kind !== 'Scalar') earlyResolver(resolve);
      else if (resolve.length === 1 && knownResolver(resolve).property === undefined)
        ofSource(resolve as (source: unknown) => unknown);
    }
    return { ...config, resolve, extensions: { ...extensions, bankql: { fromIds, payment } } };
  }

  /**
   * Refuses global ids where a field takes ids of the bank. A payment refuses them itself, because its failures are
   * data.
   */
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { args, pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const places = pothosOptions.payment ? [] : bankIdsIn(args, this.buildCache);
    if (places.length === 0) return resolver;
    return sameAs((parent, given, context, info) => {
      for (const place of places) refuseGlobalIds(given, place);
      return resolver(parent, given, context, info);
    }, resolver);
  }
}

/** An argument that takes ids of the bank: the path to it, and its name in messages, without the `input` of mutations. */
interface Place {
  readonly steps: readonly string[];
  readonly name: string;
}

function bankIdsIn<Types extends SchemaTypes>(
  fields: Readonly<Record<string, PothosInputFieldConfig<Types>>>,
  buildCache: BuildCache<Types>,
  above: readonly string[] = [],
): Place[] {
  return Object.entries(fields).flatMap(([member, { type, pothosOptions }]) => {
    const steps = [...above, member];
    const { kind, name: typeName } = resolveInputTypeConfig(type, buildCache);
    if (kind === 'InputObject')
      return bankIdsIn(buildCache.getInputTypeFieldConfigs(unwrapInputFieldType(type)), buildCache, steps);
    if (typeName !== 'ID' || pothosOptions.isGlobalId) return [];
    return { steps, name: steps.join('.').replace(/^input\./, '') };
  });
}

/** Errors: BAD_USER_INPUT for a global id at this place. */
function refuseGlobalIds(value: unknown, place: Place, at = 0): void {
  const step = place.steps[at];
  if (typeof value === 'string') notGlobalId(place.name, value);
  else if (Array.isArray(value)) for (const entry of value) refuseGlobalIds(entry, place, at);
  else if (step !== undefined && isObject(value) && value[step] != null)
    refuseGlobalIds(value[step], place, at + 1);
}

const pluginName = 'bank';

SchemaBuilder.registerPlugin(pluginName, BankPlugin);

export default pluginName;
