const keywords = new Set('and or unless on ignoring group_left group_right bool offset'.split(' '));

/** The metrics that an expression of PromQL reads, by the names under which they are stored. */
export const queriedMetrics = (expression: string): string[] => [
  ...new Set(
    expression
      .replaceAll(/"[^"]*"/g, '""')
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
      .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
      .match(/(?<![\w$.:])[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)
      ?.filter((word) => !keywords.has(word)),
  ),
];

/** The metrics in Prometheus' text, by the names under which they are stored: a histogram is three. */
export const exposedMetrics = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
