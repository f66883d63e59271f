/** What the published package says and pins, made from the repository's own manifest and lock. */

interface Manifest {
  readonly [field: string]: unknown;
}

export interface Lock {
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [field: string]: unknown;
}

/** Builds of Node, which a clone on an old Node uses. Whoever installs the package has a Node of their own. */
export const isNodeBuild = (path: string): boolean => /(^|node_modules\/)node-(linux|win)-[^/]+$/.test(path);

/** Without what only a checkout needs: its scripts, its tools, and builds of Node. */
export function publishedManifest(manifest: Manifest): Manifest {
  const {
    scripts: _,
    devDependencies: __,
    optionalDependencies: ___,
    overrides: ____,
    ...published
  } = manifest;
  return { ...published, files: [...filesOf(manifest), 'npm-shrinkwrap.json'] };
}

const filesOf = ({ files }: Manifest): readonly string[] =>
  Array.isArray(files) ? files.map((file) => String(file)) : [];

/** npm-shrinkwrap.json: an installation of the package gets the versions that were tested. */
export function shrinkwrap(lock: Lock, manifest: Manifest): Lock {
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional && !isNodeBuild(path),
  );
  const { name, version, license, bin, engines, dependencies } = manifest;
  const root = { name, version, license, dependencies, bin, engines };
  return { ...lock, name, version, packages: { '': root, ...Object.fromEntries(packages) } };
}

/** The section of a version in CHANGELOG.md, without its heading; null if there is none. */
export function changelogSection(changelog: string, version: string): string | null {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((each) => each.split(/[\s–-]/, 1)[0] === version);
  return section === undefined ? null : section.slice(section.indexOf('\n') + 1).trim();
}

/** CHANGELOG.md in which the changes since the last version are those of a new one. Errors: Error if there are none. */
export function cutChangelog(changelog: string, version: string, date: string): string {
  const unreleased = changelogSection(changelog, 'Unreleased');
  if (unreleased === null || unreleased === '')
    throw new Error('CHANGELOG.md has no changes under Unreleased.');
  if (changelogSection(changelog, version) !== null)
    throw new Error(`CHANGELOG.md has a version ${version} already.`);
  return changelog.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} – ${date}`);
}
