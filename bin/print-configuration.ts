import { readFileSync, writeFileSync } from 'node:fs';
import { uses } from '../src/capacity.ts';
import { common, describe, type Entry, options, plain, rare } from '../src/config/help.ts';

const introduction = `# Configuration

bankql reads environment variables. An empty variable counts as unset. Switches take \`on\` or \`off\` (or \`1\`, \`0\`,
\`true\`, \`false\`). If values are invalid, bankql does not start, and prints a line for each of them with the variable, the
value and the remedy. It also refuses misspelt names, such as \`BNAK_BASE_URL\`.

White space, line breaks, byte order marks and other invisible characters at the ends of a value are removed. In \`HOST\`,
\`BANK_SUBSCRIPTION_KEY\` and the issuer, the audience and the claims of tokens they are refused. A secret's file may end with a
line break. Quotes around a value and control characters in it are refused. A file of \`--env-file\` is read as Node reads it
(\`export\`, quotes and comments). It must be in UTF-8. If a name is there twice, the last value counts. A line that Node would
ignore or cut off is refused. Variables that Kubernetes makes of Services (\`SANDBOX_PORT=tcp://…\`) are ignored.

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

/** The rows of the table in docs/operate.md: the resources that callers can hold. */
export const usesTable = (): string => {
  const capOf = (cap: number | string) =>
    typeof cap === 'string' ? `\`${cap}\`` : cap === 1 ? 'all' : `1/${1 / cap}`;
  return Object.entries(uses)
    .map(([resource, { unit, total, cap }]) => `| \`${resource}\` | ${unit} | ${total} | ${capOf(cap)} |`)
    .join('\n');
};

if (process.argv[1] === import.meta.filename) {
  writeFileSync('docs/configuration.md', configurationPage());
  writeFileSync('.env.example', variablesAsEnvExample());
  const page = 'docs/operate.md';
  writeFileSync(page, readFileSync(page, 'utf8').replace(/^\| `requests` [\s\S]*?(?=\n\n)/m, usesTable));
}
