import {
  type ConstDirectiveNode,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
  isObjectType,
  Kind,
  parse,
  print,
  visit,
} from 'graphql';
import { z } from 'zod';
import { BankqlError, badUserInput } from '../errors.ts';
import type { Selection } from '../executor/selection.ts';
import type { Context } from '../schema/context.ts';
import { type EstimateContext, fieldExtensions, nullOnError } from '../schema/field-extensions.ts';
import { decodeGlobalId, encodeGlobalId, globalIdTypes } from '../schema/global-id.ts';
import { estimateNode, loadNode, maxNodeIds } from '../schema/node.ts';
import { printedSchema } from '../schema/schema.ts';

/** What the SDL begins with: https://specs.apollo.dev/federation/v2.3, which gateways of every kind know. */
const link =
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable", "@tag"])';

interface EntitiesArgs {
  readonly representations: readonly unknown[];
}

/**
 * The schema as a subgraph of Apollo Federation 2: with `_service` and `_entities`. An entity is read as `nodes` reads
 * it, and counts as one. `showsSdl`: whether `_service` answers, which tells what introspection does.
 */
export function toSubgraph(
  schema: GraphQLSchema,
  { showsSdl }: { readonly showsSdl: boolean },
): GraphQLSchema {
  const config = schema.toConfig();
  const { query } = config;
  if (!query) throw new Error('the schema has no queries');
  const anything = new GraphQLScalarType({
    name: '_Any',
    description: 'A representation of an entity: `__typename` and the fields of one of its keys.',
  });
  const entity = new GraphQLUnionType({
    name: '_Entity',
    description: 'What `_entities` finds.',
    types: Object.keys(entityKeys())
      .map((name) => schema.getType(name))
      .filter(isObjectType),
  });
  const service = new GraphQLObjectType({
    name: '_Service',
    description: 'This subgraph.',
    fields: { sdl: { type: GraphQLString, description: 'Its schema, with the directives of federation.' } },
  });
  // Takes 20 ms: an operation may ask for it many times.
  let sdl: string | undefined;
  const subgraphQuery = new GraphQLObjectType({
    ...query.toConfig(),
    fields: {
      ...query.toConfig().fields,
      _service: {
        type: new GraphQLNonNull(service),
        description: 'This subgraph, for a gateway that composes. Costs no REST call.',
        resolve() {
          if (showsSdl) {
            sdl ??= subgraphSdl(schema);
            return { sdl };
          }
          throw new BankqlError(
            'FORBIDDEN',
            'Introspection is off: compose with what `bankql schema --federation` prints.',
          );
        },
      },
      _entities: {
        type: new GraphQLNonNull(new GraphQLList(entity)),
        description:
          'Entities by their keys, in that order; each is read, and fails, on its own, as of `nodes`.',
        args: {
          representations: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(anything))) },
        },
        extensions: fieldExtensions({
          idCount: ({ representations }: EntitiesArgs) => representations.length,
          estimate: (_root: object, { representations }: EntitiesArgs, context: EstimateContext) =>
            representations.length > maxNodeIds
              ? null
              : representations.flatMap(
                  (each) => nullOnError(() => estimateNode(globalIdOf(each), context)) ?? [],
                ),
        }),
        resolve: (_root, { representations }: EntitiesArgs, context: Context, info: Selection) => {
          if (representations.length > maxNodeIds)
            throw badUserInput(`Ask for at most ${maxNodeIds} entities at a time.`);
          return representations.map(async (each) => loadNode(globalIdOf(each), context, info));
        },
      },
    },
  });
  return new GraphQLSchema({
    ...config,
    query: subgraphQuery,
    types: [...config.types.filter((type) => type !== query), anything, entity, service],
  });
}

/** The schema's SDL with the directives of federation: the keys of entities, and what other subgraphs may have too. */
export function subgraphSdl(schema: GraphQLSchema): string {
  const document = visit(parse(printedSchema(schema)), {
    // Federation's own.
    DirectiveDefinition: (node) => (node.name.value === 'tag' ? null : undefined),
    ObjectTypeDefinition: (node) => ({
      ...node,
      directives: [...(node.directives ?? []), ...directivesOf(node.name.value)],
    }),
  });
  return `${link}\n\n${print(document)}\n`;
}

function directivesOf(typename: string): readonly ConstDirectiveNode[] {
  // Every subgraph with Relay's connections has it.
  if (typename === 'PageInfo') return [directive('shareable', {})];
  const key = entityKeys()[typename];
  if (key === undefined) return [];
  return [
    directive('key', { fields: 'id' }),
    ...(key === null ? [] : [directive('key', { fields: key.join(' ') })]),
  ];
}

const directive = (name: string, args: Readonly<Record<string, string>>): ConstDirectiveNode => ({
  kind: Kind.DIRECTIVE,
  name: { kind: Kind.NAME, value: name },
  arguments: Object.entries(args).map(([argument, value]) => ({
    kind: Kind.ARGUMENT,
    name: { kind: Kind.NAME, value: argument },
    value: { kind: Kind.STRING, value },
  })),
});

/**
 * The keys of the entities of a federated graph, which another subgraph can name: each node has the key `id`, and those
 * that the bank's ids name have them as a key too.
 */
export const entityKeys = (): Readonly<Record<string, readonly string[] | null>> =>
  Object.fromEntries(
    [...globalIdTypes].flatMap(([name, type]) => (type === null ? [] : [[name, type.entityKey]])),
  );

const representation = z.looseObject({ __typename: z.string() });

/**
 * The global id of what a representation names: `{ __typename, id }`, or `__typename` with the bank's ids.
 * Errors: BAD_USER_INPUT, which says what a representation of the type needs.
 */
function globalIdOf(value: unknown): string {
  const { data } = representation.safeParse(value);
  if (data === undefined) throw badUserInput('A representation is an object with __typename and a key.');
  const { __typename: typename, id } = data;
  if (!Object.hasOwn(entityKeys(), typename))
    throw badUserInput(`${JSON.stringify(typename.slice(0, 100))} is no entity of this subgraph.`);
  if (typeof id === 'string') {
    if (decodeGlobalId(id).typename !== typename)
      throw badUserInput(`The id of a representation is that of another type than ${typename}.`);
    return id;
  }
  const names = entityKeys()[typename] ?? null;
  const values = names?.map((name) => data[name]) ?? [];
  if (names === null || !values.every((each) => typeof each === 'string')) {
    const key = names === null ? 'id' : `id, or ${names.join(', ')}`;
    throw badUserInput(`A representation of ${typename} needs its key: ${key}.`);
  }
  return encodeGlobalId(typename, JSON.stringify(values));
}
