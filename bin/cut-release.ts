import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, print, visit } from 'graphql';
import { messageOf } from '../src/errors.ts';
import { cutChangelog, fail, requireCleanTree, root, run } from './package.ts';

/**
 * `npm run release:cut -- VERSION`: makes the commit of a version. It writes the version into every file that contains it,
 * moves the changes under Unreleased to a section with today's date, and saves the schema for comparison with later versions.
 */
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) fail('usage: npm run release:cut -- VERSION, such as 0.3.0');
requireCleanTree();

const edit = (file: string, change: (text: string) => string) => {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
};
// The changelog comes first, because this step fails if there is nothing to release.
edit('CHANGELOG.md', (text) => {
  try {
    return cutChangelog(text, version, new Date().toISOString().slice(0, 10));
  } catch (error) {
    fail(messageOf(error));
  }
});
for (const folder of ['.', 'client'])
  run(
    'npm',
    'version',
    version,
    '--no-git-tag-version',
    '--allow-same-version',
    '--silent',
    '--prefix',
    folder,
  );
edit('ops/helm/Chart.yaml', (text) =>
  text
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`),
);
const note = `# The schema of the last release, ${version}: \`npm run schema\` prints the present one. \`npm run release:cut\` replaces it.\n\n`;
// Descriptions are left out, because they are not compared.
const schema = visit(parse(readFileSync(join(root, 'schema.graphql'), 'utf8')), {
  enter: (node) => ('description' in node ? { ...node, description: undefined } : undefined),
});
edit('test/contract/released.graphql', () => `${note}${print(schema)}\n`);
run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
process.stdout.write(`Committed version ${version}. Next: npm run release\n`);
