import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLDirective,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  print,
} from 'graphql';
import { operations } from '../src/contract/operations.ts';

type Member = GraphQLField<unknown, unknown> | GraphQLInputField | GraphQLArgument;

const introduction = `# Schema reference

\`npm run schema\` makes this page from \`schema.graphql\`. \`!\` marks values that are never null. Names of REST operations are links to
[rest-developers.md](rest-developers.md). Values from the bank may be null. If reading a value failed, \`errors\` says why.
`;

const lists = `## Lists

A list is a connection. It is complete unless \`first\` or \`last\` is given. Its fields:

| field | type | meaning |
| --- | --- | --- |
| \`nodes\` | the entries | The entries of the page. |
| \`edges\` | \`cursor\` and \`node\` | The entries with their cursors, for \`after\` and \`before\`. |
| \`pageInfo\` | [PageInfo](#pageinfo)! | The position of the page in the whole list. |
| \`totalCount\` | Int! | The number of entries in the whole list. For payments, null if there are more than 1,000. |

These are the arguments of each field that is marked with *paging*:

| argument | type | meaning |
| --- | --- | --- |
| \`first\`, \`after\` | Int, String | The maximum number of entries after the cursor. |
| \`last\`, \`before\` | Int, String | The maximum number of entries before the cursor. |
`;

const pagingArguments = ['after', 'before', 'first', 'last'];
const connection = /(Connection|Edge)$/;

/** docs/schema.md, of the text of schema.graphql. */
export function schemaReference(sdl: string): string {
  const schema = buildSchema(sdl);
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type) && !connection.test(type.name),
  );
  const roots: readonly unknown[] = [schema.getQueryType(), schema.getMutationType()];
  const others = types.filter((type) => !roots.includes(type));
  const group = (title: string, members: readonly GraphQLNamedType[]) => [
    `## ${title}`,
    ...members.map(section),
  ];
  return [
    introduction,
    ...rootSection('Queries', schema.getQueryType()),
    ...rootSection('Mutations', schema.getMutationType()),
    lists,
    ...group(
      'Objects',
      others.filter((type) => isObjectType(type) || isInterfaceType(type)),
    ),
    ...group('Inputs', others.filter(isInputObjectType)),
    ...group('Enums', others.filter(isEnumType)),
    ...group('Scalars', others.filter(isScalarType)),
    '## Directives',
    ...schema
      .getDirectives()
      .filter((directive) => !isSpecifiedDirective(directive))
      .map(directiveSection),
  ]
    .map((part) => part.trimEnd())
    .join('\n\n')
    .concat('\n');
}

const rootSection = (title: string, type: GraphQLObjectType | null | undefined): string[] =>
  type == null ? [] : [`## ${title}`, prose(type.description), membersTable(Object.values(type.getFields()))];

function section(type: GraphQLNamedType): string {
  const parts = [`### ${type.name}`, prose(type.description)];
  if (isObjectType(type) && type.getInterfaces().length > 0)
    parts.push(`Implements ${type.getInterfaces().map(link).join(', ')}.`);
  if (isEnumType(type)) parts.push(valuesTable(type));
  else if (!isScalarType(type) && 'getFields' in type)
    parts.push(membersTable(Object.values(type.getFields())));
  if (isScalarType(type) && type.specifiedByURL) parts.push(`Specified by <${type.specifiedByURL}>.`);
  return parts.join('\n\n');
}

const directiveSection = ({ name, description, args, locations }: GraphQLDirective): string =>
  [`### @${name}`, prose(description), `On ${locations.join(', ')}.`, membersTable(args)].join('\n\n');

const membersTable = (members: readonly Member[]): string =>
  ['| name | type | meaning |', '| --- | --- | --- |', ...members.flatMap(memberRows)].join('\n');

const valuesTable = (type: GraphQLEnumType): string =>
  [
    '| value | meaning |',
    '| --- | --- |',
    ...type.getValues().map(({ name, description }) => `| \`${name}\` | ${cell(description)} |`),
  ].join('\n');

/** A row for a field, and one for each of its arguments. */
function memberRows(member: Member): string[] {
  const args = 'args' in member ? member.args : [];
  const isPaged = pagingArguments.every((name) => args.some((argument) => argument.name === name));
  const own = isPaged ? args.filter(({ name }) => !pagingArguments.includes(name)) : args;
  const paging = isPaged ? ' ([*paging*](#lists))' : '';
  return [
    `| \`${member.name}\`${paging} | ${typeText(member.type)}${fallback(member)} | ${deprecation(member)}${cell(member.description)} |`,
    ...own.map(
      (argument) =>
        `| · argument \`${argument.name}\` | ${typeText(argument.type)}${fallback(argument)} | ${deprecation(argument)}${cell(argument.description)} |`,
    ),
  ];
}

const deprecation = ({ deprecationReason }: Member): string =>
  deprecationReason == null ? '' : `**Deprecated.** ${cell(deprecationReason)} `;

/** The value of an argument that is left out. */
const fallback = (member: Member): string =>
  'default' in member && member.default?.literal !== undefined
    ? ` = \`${print(member.default.literal)}\``
    : '';

/** A type in GraphQL's notation, with a link to meaning made of. */
function typeText(type: GraphQLType): string {
  if (isNonNullType(type)) return `${typeText(type.ofType)}!`;
  if (isListType(type)) return `\\[${typeText(type.ofType)}\\]`;
  return link(getNamedType(type));
}

function link(type: GraphQLNamedType): string {
  if (isSpecifiedScalarType(type)) return type.name;
  if (!connection.test(type.name)) return `[${type.name}](#${type.name.toLowerCase()})`;
  const node = type.name.replace(connection, '');
  return `[list](#lists) of [${node}](#${node.toLowerCase()})`;
}

const operationNames = new RegExp(`\\b(${Object.keys(operations).join('|')})\\b`, 'g');

/** A description, in which names of REST operations are links. */
const prose = (text: string | null | undefined): string =>
  (text ?? '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(operationNames, (id) => `[${id}](rest-developers.md#${id.toLowerCase()})`)
    .replaceAll(
      'the customer message PUT',
      '[the customer message PUT](rest-developers.md#putcustomermessage)',
    );

const cell = (text: string | null | undefined): string => prose(text).replaceAll('|', '\\|');
