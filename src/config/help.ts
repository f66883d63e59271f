import { fileEnding, sections, type Variable } from './variables.ts';

/** The help of the command, made of the table of variables; bin/print-configuration.ts makes the documentation of it. */

export interface Entry {
  readonly name: string;
  readonly variable: Variable;
}

const bySection = Object.entries(sections).map(([title, entries]) => ({
  title,
  entries: Object.entries(entries).map(([name, variable]): Entry => ({ name, variable })),
}));
const isCommon = ({ variable }: Entry) => variable.rarely === undefined && variable.option === undefined;
/** The variables that operators set, by task. */
export const common = bySection
  .map(({ title, entries }) => ({ title, entries: entries.filter(isCommon) }))
  .filter(({ entries }) => entries.length > 0);
const all = bySection.flatMap(({ entries }) => entries);
export const rare = all.filter(({ variable }) => variable.rarely !== undefined);
export const options = all.filter(({ variable }) => variable.option !== undefined);

/** A secret's own file is part of what is said of it. */
export const describe = ({ name, variable: { description, isSecret = false } }: Entry): string =>
  isSecret ? `${description}; or \`${name}${fileEnding}\`, a file that contains it` : description;

/** Markdown as plain text: a link becomes its text, and one in parentheses is removed. */
export const plain = (markdown: string) =>
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

export const sandboxOptionsAsHelp = (): string =>
  options
    .map(
      (entry) =>
        `  ${entry.variable.option} VALUE (${plain(entry.variable.shownFallback)})\n      ${plain(describe(entry))}\n`,
    )
    .join('');
