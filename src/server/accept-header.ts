/** What an `Accept` says of one media type, or of several: `text/*`. In lower case. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  /** How much it is wanted, above 0 to 1; 0 if it is not. */
  readonly weight: number;
}

// Each match goes on behind the last one, and a quote that is never closed reaches to the end: the time is that of the length.
const quoted = String.raw`"(?:\\.|[^"\\])*(?:"|\\?$)`;
const ranges = new RegExp(`(?:${quoted}|[^",])+`, 'g');
const parts = new RegExp(`(?:${quoted}|[^";])+`, 'g');

/** The ranges of an `Accept`, in its order. Ranges with another character set than UTF-8 are skipped: answers have no other. */
export const mediaRanges = (accept: string): readonly MediaRange[] =>
  (accept.toLowerCase().match(ranges) ?? []).map(parseMediaRange).filter(isUtf8);

/** A single range, or a `Content-Type`, in lower case. */
export function parseMediaRange(text: string): MediaRange {
  const [type = '', ...others] = (text.match(parts) ?? []).map((part) => part.trim());
  const parameters = new Map(others.map(toParameter));
  const weight = Number(parameters.get('q') ?? 1);
  return { type, parameters, weight: Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1) };
}

function toParameter(text: string): [string, string] {
  const equals = text.indexOf('=');
  const [name, value] =
    equals === -1 ? [text, ''] : [text.slice(0, equals).trimEnd(), text.slice(equals + 1).trimStart()];
  return [name, value.startsWith('"') ? value.slice(1).replace(/"$/, '').replaceAll(/\\(.)/g, '$1') : value];
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
