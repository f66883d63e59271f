import './fields.ts';
import './link.ts';
import './list.ts';
import './schema-builder.ts';
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { earlyResolver, knownResolver, ofSource } from '../../executor/known-resolvers.ts';
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
}

const pluginName = 'bank';

SchemaBuilder.registerPlugin(pluginName, BankPlugin);

export default pluginName;
