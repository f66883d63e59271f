import { fileEnding, type Variable } from './variable.ts';
import { sections } from './variables.ts';

/** What is made of the table of variables: the documentation, the help of the command, an example of a file. */

const bySection = Object.entries(sections).map(([title, entries]) => ({
  title,
  entries: Object.entries(entries).map(([name, variable]) => ({ name, variable })),
}));

/** A secret's own file is part of what is said of it. */
const describe = (name: string, { description, isSecret = false }: Variable): string =>
  isSecret ? `${description}; or \`${name}${fileEnding}\`, a file that holds it` : description;

const introduction = `# Configuration

bankql reads environment variables. An empty one counts as unset. Switches take \`on\` or \`off\` (\`1\`, \`0\`, \`true\`,
\`false\` too). Values that cannot be used stop the start, all of them at once, with a line each that names the variable,
the value and the remedy; so does a name that is almost one of these, such as \`BNAK_BASE_URL\`.

This page is made from \`src/config/variables.ts\` by \`npm run configuration\`, and so is \`.env.example\`.

`;

/** docs/configuration.md: a section for each task, with its table. */
export const configurationPage = (): string =>
  introduction +
  bySection
    .map(({ title, entries }) =>
      [
        `## ${title}`,
        '',
        '| variable | default | what it is |',
        '| --- | --- | --- |',
        ...entries.map(
          ({ name, variable }) => `| \`${name}\` | ${variable.shownFallback} | ${describe(name, variable)} |`,
        ),
        '',
      ].join('\n'),
    )
    .join('\n');

/** Markdown as plain text: without links and quotes. */
const plain = (markdown: string) => markdown.replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, '').replaceAll('`', '');

/** For a terminal: a line or two each. */
export const variablesAsHelp = (): string =>
  bySection
    .map(({ title, entries }) =>
      [
        `${title}:`,
        ...entries.map(
          ({ name, variable }) =>
            `  ${name} (${plain(variable.shownFallback)})\n      ${plain(describe(name, variable))}`,
        ),
        '',
      ].join('\n'),
    )
    .join('\n');

/** A file for --env-file: every variable, commented out where it has its default. */
export const variablesAsEnvExample = (): string =>
  [
    '# Every variable of bankql, with its default. Made from src/config/variables.ts: `npm run configuration`.',
    '',
    ...bySection.map(({ title, entries }) =>
      [
        `# ${title}`,
        '',
        ...entries.flatMap(({ name, variable }) => [
          `# ${plain(describe(name, variable))}`,
          `# default: ${plain(variable.shownFallback)}`,
          `#${name}=`,
          '',
        ]),
      ].join('\n'),
    ),
  ].join('\n');
