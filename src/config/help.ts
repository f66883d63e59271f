import { fileEnding, sections, type Variable } from './variables.ts';

/** The help of the command, made of the table of variables; bin/print-configuration.ts makes the documentation of it. */

export interface Entry {
  readonly name: string;
  readonly variable: Variable;
}

/** The variables by subject. */
export const bySection = Object.entries(sections).map(([title, entries]) => ({
  title,
  entries: Object.entries(entries).map(([name, variable]): Entry => ({ name, variable })),
}));

/** The description of a variable. For a secret it names the variable of the secret's file too. */
export const describe = ({ name, variable: { description, isSecret = false } }: Entry): string =>
  isSecret ? `${description}; or \`${name}${fileEnding}\`, a file that contains it` : description;

/** Markdown as plain text: a link becomes its text, and one in parentheses is removed. */
export const plain = (markdown: string) =>
  markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');

/** For a terminal: each variable with a line or two. */
export const variablesAsHelp = (): string =>
  bySection
    .map(({ title, entries }) =>
      [
        `${title}:`,
        ...entries.map(
          (entry) =>
            `  ${entry.name} (${plain(entry.variable.shownFallback)})\n      ${plain(describe(entry))}`,
        ),
        '',
      ].join('\n'),
    )
    .join('\n');
