import { fileEnding, sections, type Variable } from './variables.ts';

/** The documentation, the help of the command, and an example of a file, made of the table of variables. */

interface Entry {
  readonly name: string;
  readonly variable: Variable;
}

const bySection = Object.entries(sections).map(([title, entries]) => ({
  title,
  entries: Object.entries(entries).map(([name, variable]): Entry => ({ name, variable })),
}));
const isCommon = ({ variable }: Entry) => variable.rarely === undefined && variable.option === undefined;
/** The variables that operators set, by task. */
const common = bySection
  .map(({ title, entries }) => ({ title, entries: entries.filter(isCommon) }))
  .filter(({ entries }) => entries.length > 0);
const all = bySection.flatMap(({ entries }) => entries);
const rare = all.filter(({ variable }) => variable.rarely !== undefined);
const options = all.filter(({ variable }) => variable.option !== undefined);

/** A secret's own file is part of what is said of it. */
const describe = ({ name, variable: { description, isSecret = false } }: Entry): string =>
  isSecret ? `${description}; or \`${name}${fileEnding}\`, a file that contains it` : description;

const introduction = `# Configuration

bankql reads environment variables. An empty variable counts as unset. Switches take \`on\` or \`off\` (or \`1\`, \`0\`,
\`true\`, \`false\`). If values are invalid, bankql does not start, and prints a line for each of them with the variable, the
value and the remedy. It also refuses misspelt names, such as \`BNAK_BASE_URL\`.

\`npm run configuration\` makes this page and \`.env.example\` from \`src/config/variables.ts\`.

`;

const table = (columns: string, rows: readonly string[]): string =>
  [columns, columns.replaceAll(/[^|]+/g, ' --- '), ...rows, ''].join('\n');

/** docs/configuration.md: a section for each task, then what is rarely changed, and the sandbox's options. */
export const configurationPage = (): string =>
  introduction +
  [
    ...common.map(({ title, entries }) =>
      [
        `## ${title}\n`,
        table(
          '| variable | default | meaning |',
          entries.map(
            (entry) => `| \`${entry.name}\` | ${entry.variable.shownFallback} | ${describe(entry)} |`,
          ),
        ),
      ].join('\n'),
    ),
    [
      '## Rarely changed\n',
      table(
        '| variable | default | meaning | change it if |',
        rare.map(
          (entry) =>
            `| \`${entry.name}\` | ${entry.variable.shownFallback} | ${describe(entry)} | ${entry.variable.rarely} |`,
        ),
      ),
    ].join('\n'),
    [
      '## The sandbox bank\n',
      'Options of `bankql sandbox`. The variables are the old names of these options and work until 1.0. They also',
      'apply to the sandbox bank that bankql starts itself if no bank is configured.\n',
      table(
        '| option | variable | default | meaning |',
        options.map(
          (entry) =>
            `| \`${entry.variable.option}\` | \`${entry.name}\` | ${entry.variable.shownFallback} | ${describe(entry)} |`,
        ),
      ),
    ].join('\n'),
  ].join('\n');

/** Markdown as plain text: a link is its text, and one in parentheses is left out. */
const plain = (markdown: string) =>
  markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');

/** For a terminal: the common variables with a line or two each, the others with the reason to change them. */
export const variablesAsHelp = (): string =>
  [
    ...common.map(({ title, entries }) =>
      [
        `${title}:`,
        ...entries.map(
          (entry) =>
            `  ${entry.name} (${plain(entry.variable.shownFallback)})\n      ${plain(describe(entry))}`,
        ),
        '',
      ].join('\n'),
    ),
    [
      'Rarely changed; change one if:',
      ...rare.map(
        ({ name, variable }) =>
          `  ${name} (${plain(variable.shownFallback)}): ${plain(variable.rarely ?? '')}`,
      ),
      '',
    ].join('\n'),
  ].join('\n');

/** The options of `bankql sandbox`, for its help. */
export const sandboxOptionsAsHelp = (): string =>
  options
    .map(
      (entry) =>
        `  ${entry.variable.option} VALUE (${plain(entry.variable.shownFallback)})\n      ${plain(describe(entry))}\n`,
    )
    .join('');

/** A file for --env-file: every variable, commented out if it has its default. */
export const variablesAsEnvExample = (): string => {
  const lines = (entry: Entry) => [
    `# ${plain(describe(entry))}`,
    `# default: ${plain(entry.variable.shownFallback)}`,
    ...(entry.variable.rarely === undefined ? [] : [`# change it if ${plain(entry.variable.rarely)}`]),
    `#${entry.name}=`,
    '',
  ];
  return [
    '# The variables of bankql, with their defaults. Made from src/config/variables.ts by npm run configuration.',
    '',
    ...common.map(({ title, entries }) => [`# ${title}`, '', ...entries.flatMap(lines)].join('\n')),
    ['# Rarely changed', '', ...rare.flatMap(lines)].join('\n'),
  ].join('\n');
};
