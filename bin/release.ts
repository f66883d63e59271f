import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changelogSection, fail, publishedManifest, requireCleanTree, root, run } from './package.ts';

/**
 * `npm run release [-- --package-only FOLDER]`: writes all parts of a release to the folder release/: the packages of bankql and
 * of @bankql/client, the bill of materials, and a text with the image's tag and the changes. It refuses a tree with changes,
 * because a release is made from a commit. With --package-only, it makes only the server's package, from the tree as it is.
 */
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/**
 * Makes the server's package in a folder.
 * Shape: the name of its file.
 */
function packServer(destination: string): string {
  run('npm', 'run', '--silent', 'build');
  const stage = join(destination, 'package');
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  const manifest = JSON.parse(read('package.json'));
  for (const file of manifest.files) cpSync(join(root, file), join(stage, file), { recursive: true });
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
  const packed = run('npm', 'pack', '--silent', '--pack-destination', destination, stage);
  rmSync(stage, { recursive: true });
  return packed;
}

const [option, folder] = process.argv.slice(2);
if (option === '--package-only' && folder !== undefined) {
  process.stdout.write(`${packServer(folder)}\n`);
  process.exit(0);
}
if (option !== undefined) fail('usage: npm run release [-- --package-only FOLDER]');

requireCleanTree();
const { version } = JSON.parse(read('package.json'));
const changes = changelogSection(read('CHANGELOG.md'), version);
if (changes === null)
  fail(`CHANGELOG.md has no section ${version}: npm run release:cut -- ${version} makes one of Unreleased.`);

const release = join(root, 'release');
rmSync(release, { recursive: true, force: true });
mkdirSync(release);
const server = packServer(release);
const client = run('npm', 'pack', '--silent', '--pack-destination', release, join(root, 'client'));
run(process.execPath, join(root, '.ci/sbom/sbom.js'), '--check');
writeFileSync(
  join(release, `bankql-${version}.sbom.json`),
  `${run(process.execPath, join(root, '.ci/sbom/sbom.js'))}\n`,
);
const commit = run('git', 'rev-parse', 'HEAD');
const image = `bankql:${version}`;
writeFileSync(
  join(release, 'RELEASE.md'),
  `# bankql ${version}\n\nCommit ${commit}. Image \`${image}\`: \`docker build -f ops/Dockerfile -t ${image} .\`\n\n${changes}\n`,
);
process.stdout.write(
  [server.split('\n').at(-1), client.split('\n').at(-1), `bankql-${version}.sbom.json`, 'RELEASE.md']
    .map((file) => `release/${file}\n`)
    .join(''),
);
process.stdout.write(
  `Image: docker build -f ops/Dockerfile -t ${image} .\nTag: git tag v${version} ${commit}\n`,
);
