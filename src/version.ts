import { readFileSync } from 'node:fs';

/** The package's version. The same relative path leads to package.json from the sources and from their compiled copies. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
