// `npm run sbom`: prints a CycloneDX bill of the packages that are installed and that bankql needs to run. `--check`: compares it
// with package-lock.json instead, and fails if they differ.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages } from '../../bin/bundle-command.ts';

const folder = import.meta.dirname;
const root = join(folder, '../..');

if (!existsSync(join(folder, 'node_modules')))
  execFileSync('npm', ['ci', '--omit=optional', '--loglevel=error', '--prefix', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const program = join(folder, 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js');
const args = [program, '--omit', 'dev', '--output-format', 'JSON', '--no-validate', '--output-reproducible'];
const bill = JSON.parse(
  execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }),
);
// Builds of Node, which are installed in a clone but not with the package.
const isNode = ({ name }) => /^node-(linux|win)-/.test(name);
const isBuild = (reference) => /\bnode-(linux|win)-/.test(reference);
bill.components = bill.components.filter((component) => !isNode(component));
bill.dependencies = bill.dependencies
  ?.filter(({ ref }) => !isBuild(ref))
  .map(({ dependsOn, ...rest }) => ({
    ...rest,
    ...(dependsOn && { dependsOn: dependsOn.filter((each) => !isBuild(each)) }),
  }));

const nameOf = ({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`;
const every = (components = []) => components.flatMap((each) => [each, ...every(each.components)]);
const components = every(bill.components);
// Packages in the bundled command. A scanner of node_modules does not find their code there.
const bundled = new Set(await bundledPackages());
for (const component of components)
  if (bundled.has(nameOf(component)))
    component.properties = [...(component.properties ?? []), { name: 'bankql:bundled', value: 'command/' }];

if (!process.argv.includes('--check')) process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
else {
  const listed = new Set(components.map(nameOf));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const needed = new Set(
    Object.entries(packages).flatMap(([path, { version, dev, devOptional }]) => {
      const name = path.replace(/^.*node_modules\//, '');
      return path === '' || dev || devOptional || isNode({ name }) ? [] : [`${name}@${version}`];
    }),
  );
  const missing = [...needed].filter((name) => !listed.has(name));
  const unknown = [...listed].filter((name) => !needed.has(name));
  const unlisted = [...bundled].filter((name) => !listed.has(name));
  process.stdout.write(
    `${listed.size} packages in the bill, ${needed.size} in the lock, ${bundled.size} in the command\n`,
  );
  for (const name of missing) process.stdout.write(`not in the bill: ${name}\n`);
  for (const name of unknown) process.stdout.write(`not in the lock: ${name}\n`);
  for (const name of unlisted) process.stdout.write(`in the command, and not in the bill: ${name}\n`);
  if (missing.length + unknown.length + unlisted.length > 0) process.exit(1);
}
