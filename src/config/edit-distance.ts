/** How many characters have to be inserted, deleted or replaced to make one word the other (Levenshtein). */
export function editDistance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [row, character] of [...one].entries()) {
    const line = [row + 1];
    for (const [column, diagonal] of above.slice(0, -1).entries()) {
      const replaced = diagonal + (character === other[column] ? 0 : 1);
      line.push(Math.min(replaced, (line[column] ?? 0) + 1, (above[column + 1] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
