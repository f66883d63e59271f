/**
 * The first `maxLength` characters of a text, in which '[redacted]' stands for each of `secrets`. A secret that the cut
 * goes through is taken out whole: what comes after the cut is looked at as far as the longest of them reaches. A secret
 * that stands within one of `known`, texts that the reader has sent, stays.
 */
export function redact(
  text: string,
  secrets: readonly string[],
  maxLength: number,
  known: readonly string[] = [],
): string {
  // Longest first: one may begin like another.
  const sorted = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
  const longest = sorted[0]?.length;
  if (longest === undefined) return text.slice(0, maxLength);
  const looked = text.slice(0, maxLength + longest);
  let clean = '';
  let end = 0;
  for (const { 0: secret, index } of looked.matchAll(patternOf(sorted))) {
    if (index >= maxLength) break;
    if (known.some((each) => isWithin(each, secret, text, index))) continue;
    clean += `${looked.slice(end, index)}[redacted]`;
    end = index + secret.length;
  }
  return clean + looked.slice(end, maxLength);
}

/** Whether the secret at this index of the text is part of a known text there. */
function isWithin(known: string, secret: string, text: string, index: number): boolean {
  for (let at = known.indexOf(secret); at !== -1; at = known.indexOf(secret, at + 1))
    if (text.startsWith(known, index - at) && index >= at) return true;
  return false;
}

/** Finds any of these texts. */
const patternOf = (texts: readonly string[]): RegExp =>
  new RegExp(texts.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
