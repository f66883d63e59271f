import { readFileSync } from 'node:fs';

/** The package's version. The file is next to the sources, and next to their copies in the package. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
