/** The manifest of the published package, and the sections of CHANGELOG.md. */

interface Manifest {
  readonly [field: string]: unknown;
}

/**
 * Without the parts that only a checkout needs: its scripts, its tools, and builds of Node. npm ignores a shrinkwrap in a package: an
 * installation gets the newest versions that the dependencies of dependencies allow.
 */
export function publishedManifest(manifest: Manifest): Manifest {
  const {
    scripts: _,
    devDependencies: __,
    optionalDependencies: ___,
    overrides: ____,
    ...published
  } = manifest;
  return published;
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
