import type { z } from 'zod';
import { fileEnding, secretVariables, sections } from './variables.ts';

/** Descriptions of the variables, for `bankql help settings` and bin/print-configuration.ts. */

/**
 * The variables by subject. Shape: for each variable, the default in words and the description; both are
 * Markdown.
 */
export const bySection = Object.entries(sections).map(([title, entries]) => ({
  title,
  entries: Object.entries(entries).map(([name, format]) => ({
    name,
    fallback: defaultOf(format),
    description: descriptionOf(name, format),
  })),
}));

/** The default of a variable: the value that its format gives to a variable that is not set. */
function defaultOf(format: z.ZodType): string {
  const { data: value } = format.safeParse(undefined);
  if (typeof value === 'string') return `\`${value}\``;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'number' ? String(value) : (format.meta()?.unset ?? 'none');
}

/** The description of a variable. For a secret, it also names the variable for its file. */
function descriptionOf(name: string, { description = '' }: z.ZodType): string {
  return secretVariables.includes(name)
    ? `${description}; or \`${name}${fileEnding}\`, a file that contains it`
    : description;
}

/** Markdown as plain text: a link becomes its text, and one in parentheses is removed. */
export const plain = (markdown: string) =>
  markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');

/** Each variable with a line or two, for a terminal. */
export const variablesAsHelp = (): string =>
  bySection
    .map(({ title, entries }) => {
      const lines = entries.map(
        ({ name, fallback, description }) => `  ${name} (${plain(fallback)})\n      ${plain(description)}\n`,
      );
      return `${title}:\n${lines.join('')}`;
    })
    .join('\n');
