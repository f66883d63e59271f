import { readFileSync, writeFileSync } from 'node:fs';
import { isObjectType } from 'graphql';
import { operations } from '../src/contract/operations.ts';
import { camelCase } from '../src/contract/record.ts';
import { fieldsInRest } from '../src/schema/rest-extensions.ts';
import { printedSchema, schema } from '../src/schema/schema.ts';

const types = Object.values(schema.getTypeMap()).filter(
  (type) => isObjectType(type) && !/^(__|Query$|Mutation$|PageInfo$)|(Connection|Edge)$/.test(type.name),
);

/** The names of types as the entries of a list in TypeScript, each line with `indent` spaces and at most 110 characters. */
function entriesOf(of: readonly (typeof types)[number][], indent: number): string {
  const lines = [''];
  for (const entry of of.map(({ name }) => `'${name}',`).sort()) {
    const last = lines.at(-1) ?? '';
    if (last.length + entry.length + 1 > 110 - indent) lines.push(entry);
    else lines[lines.length - 1] = last === '' ? entry : `${last} ${entry}`;
  }
  return lines.map((line) => `\n${' '.repeat(indent)}${line}`).join('');
}

const withoutId = types.filter((type) => isObjectType(type) && type.getFields().id === undefined);

/** Replaces the lines below a comment of a page, up to the next empty line. */
const below = (page: string, mark: string, lines: readonly string[]): string =>
  page.replace(new RegExp(`(?<=<!-- ${mark} -->\\n\\n)[^]*?(?=\\n\\n)`), lines.join('\n'));

const inRest = fieldsInRest(schema);
const marks = { required: 'A', optional: 'a', none: '' } as const;

/** A row for each operation of the bank, with the fields that call it. */
const operationRows = Object.values(operations).map(({ id, method, path, tracked, auth }) => {
  const callers = inRest
    .filter((field) => field.operations.includes(id) && !/Payload\.|Query\.nodes?$/.test(field.field))
    .map(({ field }) => `\`${field.replace(/^(Query|Mutation)\./, '')}\``);
  const headers = `${tracked ? 'T ' : ''}${marks[auth]}`.trim();
  return `| \`${id}\` | ${method} \`${path.replace('/v1/api', '')}\` | ${headers} | ${callers.join(', ')} |`;
});

/** A row for each field whose name is not that of its REST member in camel case. */
const nameRows = inRest
  .filter(({ field, member }) => member !== undefined && camelCase(member) !== field.split('.')[1])
  .map(({ field, member }) => `| \`${field}\` | \`${member}\` |`)
  .sort();

/**
 * The files that `npm run schema` writes. Each has a function that makes its new text from its old one: the copy of the schema,
 * the list of types for a client's cache, and the tables of REST's operations and names.
 */
export const writtenFiles: Readonly<Record<string, (before: string) => string>> = {
  'schema.graphql': printedSchema,
  'docs/clients.md': (page) =>
    page.replace(/(?<=Object\.fromEntries\(\s*\[)[^\]]*/, `${entriesOf(withoutId, 4)}\n  `),
  'docs/rest-developers.md': (page) =>
    below(
      below(page, 'operations', [
        '| operation | request below `/v1/api` | | GraphQL |',
        '| --- | --- | --- | --- |',
        ...operationRows,
      ]),
      'names',
      ['| GraphQL | REST |', '| --- | --- |', ...nameRows],
    ),
};

if (process.argv[1] === import.meta.filename)
  for (const [file, write] of Object.entries(writtenFiles))
    writeFileSync(file, write(readFileSync(file, 'utf8')));
