import { readFileSync } from 'node:fs';

/** The package's version. The file is beside the sources, and beside what the package holds of them. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
