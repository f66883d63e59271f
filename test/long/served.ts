import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

function codeBlock(language: string): string {
  const [, block = ''] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(readme) ?? [];
  return block;
}

/**
 * Checks that bankql at this address answers the README's query as in the README, and has the files of GraphiQL.
 * Errors: an Error if it does not.
 */
export async function checkServed(address: string): Promise<void> {
  await checkPage(address);
  const response = await fetch(address, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Ocp-Apim-Subscription-Key': 'sandbox-key',
      'Auth-Provider-Name': 'sandbox',
      'Auth-ID': 'alice',
    },
    body: JSON.stringify({ query: codeBlock('graphql') }),
  });
  const answer = JSON.stringify(await response.json());
  if (answer !== JSON.stringify(JSON.parse(codeBlock('json')))) throw new Error(`it answers ${answer}`);
}

async function checkPage(address: string): Promise<void> {
  const page = await (await fetch(address, { headers: { Accept: 'text/html' } })).text();
  const files = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => new URL(path, address));
  const modules = ['calls-panel.js', 'fetcher.js', 'storage.js', 'graphql.worker.js'];
  for (const file of [...files, ...modules.map((name) => new URL(name, files.at(-1)))]) {
    const { status } = await fetch(file);
    if (status !== 200) throw new Error(`GraphiQL's ${file.pathname} is answered with ${status}`);
  }
  if (files.length < 5) throw new Error("GraphiQL's page names too few files");
}
