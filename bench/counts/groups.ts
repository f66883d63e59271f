/** The parts of the process for which work is counted, each with a pattern of the paths of its files. The first match counts. */
const groups = {
  undici: /node_modules\/undici\//,
  http: /\/src\/(http|load|graphql|app|telemetry)\/|node_modules\/(graphql-yoga|@graphql-yoga|@whatwg-node|@envelop|@graphql-tools|pino)/,
  executor: /\/src\/executor\//,
  schema: /\/src\/(schema|loaders)\/|node_modules\/(@pothos|dataloader|graphql)\//,
  bank: /\/src\/(bank|contract|payments)\/|node_modules\/lru-cache/,
} as const;

export type CountedGroup = keyof typeof groups | 'other';

/** The group of the innermost file in a stack, or of a file. */
export function groupOf(stack: string): CountedGroup {
  for (const line of stack.split('\n'))
    for (const [group, files] of Object.entries(groups))
      if (files.test(line)) return group as keyof typeof groups;
  return 'other';
}
