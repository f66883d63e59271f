import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changelogSection, cutChangelog, publishedManifest, shrinkwrap } from '../bin/package.ts';

/** What `npm run release` publishes; `npm run check:package` installs it. */

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const lock = JSON.parse(read('package-lock.json'));

test('the package has no scripts, no tools and no builds of Node, and pins what it installs', () => {
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
  expect(published.files).toContain('npm-shrinkwrap.json');
});

test('the shrinkwrap has the lock’s versions of every package that the server needs, and no other package', () => {
  const { packages } = shrinkwrap(lock, publishedManifest(manifest));
  const root = packages[''];
  expect(root).toMatchObject({ version: manifest.version, dependencies: manifest.dependencies });
  expect(root).not.toHaveProperty('devDependencies');
  const names = Object.keys(packages);
  expect(names.filter((name) => /node-(linux|win)/.test(name))).toEqual([]);
  expect(Object.values(packages).filter(({ dev }) => dev)).toEqual([]);
  for (const [path, entry] of Object.entries(packages)) {
    if (path !== '') expect(entry).toEqual(lock.packages[path]);
    const needs = Object.keys((entry.dependencies ?? {}) as Record<string, string>);
    // Each is there, beside what needs it or further up.
    for (const name of needs) {
      const places = path
        .split('node_modules/')
        .map((_, index, parts) => `${parts.slice(0, index + 1).join('node_modules/')}`);
      const found = [path, ...places].some((place) =>
        names.includes(`${place === '' ? '' : `${place.replace(/\/$/, '')}/`}node_modules/${name}`),
      );
      expect(found, `${name} of ${path}`).toBe(true);
    }
  }
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
