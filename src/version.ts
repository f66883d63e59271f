import { readFileSync } from 'node:fs';

/** The package's version. package.json has the same position relative to the sources and to their copies in the package. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
