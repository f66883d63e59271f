import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Functions of both commands of a release, cut-release.ts and release.ts. */

export const root = join(import.meta.dirname, '..');

/** Runs a command in the root folder. Shape: its output. */
export const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();

export function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** A release is made from a commit, so the tree must have no changes. */
export function requireCleanTree(): void {
  const changed = run('git', 'status', '--porcelain');
  if (changed !== '') fail(`Commit or remove first:\n${changed}`);
}

/**
 * The manifest without the parts that only a checkout needs: its scripts, its tools, and builds of Node. An installation gets
 * the newest allowed versions of indirect dependencies, because npm ignores a shrinkwrap in a package.
 */
export function publishedManifest(manifest: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const onlyForCheckouts = ['scripts', 'devDependencies', 'optionalDependencies', 'overrides'];
  return Object.fromEntries(Object.entries(manifest).filter(([field]) => !onlyForCheckouts.includes(field)));
}

/** The section of a version in CHANGELOG.md, without its heading; null if the version has no section. */
export function changelogSection(changelog: string, version: string): string | null {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((each) => each.split(/[\s–-]/, 1)[0] === version);
  return section === undefined ? null : section.slice(section.indexOf('\n') + 1).trim();
}

/**
 * CHANGELOG.md in which the changes under Unreleased have become the section of a new version.
 * Errors: Error if there are no changes.
 */
export function cutChangelog(changelog: string, version: string, date: string): string {
  if (!changelogSection(changelog, 'Unreleased'))
    throw new Error('CHANGELOG.md has no changes under Unreleased.');
  if (changelogSection(changelog, version) !== null)
    throw new Error(`CHANGELOG.md has a version ${version} already.`);
  return changelog.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} – ${date}`);
}
