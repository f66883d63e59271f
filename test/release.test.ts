import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changelogSection, cutChangelog, publishedManifest } from '../bin/package.ts';

/** The files that `npm run release` publishes; `npm run check:package` installs them. */

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
const manifest = JSON.parse(read('package.json'));

test('the package has no scripts, no tools and no builds of Node, and names exact versions', () => {
  const published = publishedManifest(manifest);
  expect(Object.keys(published).sort()).toEqual(
    [
      'bin',
      'dependencies',
      'description',
      'engines',
      'exports',
      'files',
      'license',
      'name',
      'type',
      'version',
    ].sort(),
  );
  expect(published.dependencies).toEqual(manifest.dependencies);
  for (const version of Object.values(manifest.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  // A new dependency needs a decision, which raises this number.
  expect(Object.keys(manifest.dependencies).length).toBeLessThanOrEqual(21);
});

test('the client’s package has the server’s version, and needs nothing', () => {
  const client = JSON.parse(read('client/package.json'));
  expect(client).toMatchObject({ name: '@bankql/client', version: manifest.version });
  for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bin'])
    expect(client).not.toHaveProperty(field);
});

describe('a changelog', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 0.1.0 – 2026-01-01\n\n- First.\n';

  test('gets a section of the version with its date, and goes from version to version', () => {
    const cut = cutChangelog(changelog, '0.2.0', '2026-02-01');
    expect(cut).toContain('## Unreleased\n\n## 0.2.0 – 2026-02-01\n\n### Added\n\n- A.\n');
    expect(changelogSection(cut, '0.2.0')).toBe('### Added\n\n- A.');
    expect(changelogSection(cut, '0.1.0')).toBe('- First.');
    expect(changelogSection(cut, '0.3.0')).toBeNull();
  });

  test('without changes, or with that version, makes no release', () => {
    expect(() => cutChangelog(cutChangelog(changelog, '0.2.0', 'd'), '0.3.0', 'd')).toThrow('no changes');
    expect(() => cutChangelog(changelog, '0.1.0', 'd')).toThrow('0.1.0 already');
  });
});
