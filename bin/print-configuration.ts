import { writeFileSync } from 'node:fs';
import { bySection, plain } from '../src/config/help.ts';
import { limitRows } from '../src/load/fixed-limits.ts';

const introduction = `# Configuration

bankql reads environment variables. An empty variable counts as unset. Switches take \`on\` or \`off\` (or \`1\`, \`0\`,
\`true\`, \`false\`). If a value is invalid, bankql prints the remedy, and does not start. It also refuses settings of earlier
versions, and unknown names that begin like its own (\`BANK_…\`, \`STATE_…\`) or nearly are its own (\`BNAK_BASE_URL\`). Names that a
platform sets, such as Kubernetes' \`BANK_SERVICE_HOST\`, are ignored. \`bankql check\` checks the settings and the
payment store, and prints the source of each setting.

White space and invisible characters at the ends of a value are removed. Quotes around a value are refused.
\`--env-file FILE\` reads a file in UTF-8 as Node does. The environment takes precedence over files, and
later files over earlier ones.

\`npm run configuration\` makes this page and \`.env.example\` from \`src/config/variables.ts\` and \`src/load/fixed-limits.ts\`.

`;

const limitsIntroduction = `## Fixed limits

These are not settings. \`bankql check --limits\` prints their values on a machine; \`src/load/fixed-limits.ts\` has the reasons.

`;

const table = (columns: string, rows: readonly string[]): string =>
  [columns, columns.replaceAll(/[^|]+/g, ' --- '), ...rows, ''].join('\n');

/** docs/configuration.md: a section for each subject, and the fixed limits. */
export const configurationPage = (): string =>
  introduction +
  bySection
    .map(({ title, entries }) => {
      const rows = entries.map(
        ({ name, fallback, description }) => `| \`${name}\` | ${fallback} | ${description} |`,
      );
      return `## ${title}\n\n${table('| variable | default | meaning |', rows)}\n`;
    })
    .join('') +
  limitsIntroduction +
  table(
    '| limit | of |',
    limitRows().map(({ rule, meaning }) => `| ${rule} | ${meaning} |`),
  );

/** The first clause of a description. */
const firstWords = (description: string) => plain(description).split(/[;:.,] /, 1)[0];

/** A file for --env-file: every variable, commented out. */
export const variablesAsEnvExample = (): string =>
  [
    '# The variables of bankql. docs/configuration.md says more. Made from src/config/variables.ts by npm run configuration.',
    '',
    ...bySection.map(({ title, entries }) =>
      [
        `# ${title}`,
        ...entries.map(
          ({ name, fallback, description }) =>
            `\n# ${firstWords(description)} (default: ${plain(fallback)})\n#${name}=`,
        ),
        '',
      ].join('\n'),
    ),
  ].join('\n');

if (process.argv[1] === import.meta.filename) {
  writeFileSync('docs/configuration.md', configurationPage());
  writeFileSync('.env.example', variablesAsEnvExample());
}
