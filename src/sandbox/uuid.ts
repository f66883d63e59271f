import { createHash } from 'node:crypto';

/** A UUID (version 8) made from a name: the same name gives the same one, in every sandbox. */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(12, 15)}`, `a${hex.slice(15, 18)}`];
  return [...parts, hex.slice(18, 30)].join('-');
}
