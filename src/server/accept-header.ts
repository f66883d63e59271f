import { type MIMEParams, MIMEType } from 'node:util';

/** What an `Accept` says of one media type, or of several: `text/*`. In lower case. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: Pick<MIMEParams, 'get' | 'has'>;
  /** How much it is wanted, above 0 to 1; 0 if it is not. */
  readonly weight: number;
}

/** Commas within quotes do not separate. A quote that is never closed reaches to the end, so the time is linear. */
const ranges = /(?:"(?:\\.|[^"\\])*(?:"|\\?$)|[^",])+/g;

/**
 * The ranges of an `Accept`, in its order. Invalid ranges, and those with another character set than UTF-8, are skipped: answers
 * have no other.
 */
export const mediaRanges = (accept: string): readonly MediaRange[] =>
  (accept.toLowerCase().match(ranges) ?? []).flatMap((text) => parseMediaRange(text) ?? []).filter(isUtf8);

/** A single range, or a `Content-Type`, in lower case; null if it is invalid. */
export function parseMediaRange(text: string): MediaRange | null {
  try {
    const { essence, params } = new MIMEType(text);
    const weight = Number(params.get('q') ?? 1);
    return {
      type: essence,
      parameters: params,
      weight: Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1),
    };
  } catch {
    return null;
  }
}

const isUtf8 = ({ parameters }: MediaRange) => (parameters.get('charset') ?? 'utf-8') === 'utf-8';

/**
 * The offered type that is wanted most; of types that are wanted alike, the one that is named first, then the one that is
 * offered first. Null if no type is wanted. If a type is in several ranges, the narrowest counts, as in RFC 9110.
 */
export function preferredType<T extends string>(accept: string, offered: readonly T[]): T | null {
  const all = mediaRanges(accept);
  let preferred: { type: T; weight: number; at: number } | null = null;
  for (const type of offered) {
    const any = `${type.slice(0, type.indexOf('/'))}/*`;
    const name = [type, any, '*/*'].find((each) => all.some((range) => range.type === each));
    const at = all.findIndex((range) => range.type === name);
    const weight = all[at]?.weight ?? 0;
    if (weight === 0) continue;
    if (preferred === null || weight > preferred.weight || (weight === preferred.weight && at < preferred.at))
      preferred = { type, weight, at };
  }
  return preferred?.type ?? null;
}
