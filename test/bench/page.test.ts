import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { spreadOf, standing } from '../../bench/report/statistics.ts';

/** docs/performance.md describes the code as it is. */

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
/** As many as the redesign of 0.4.0 takes, which is measured when it is complete. */
const mostCommits = 250;

function gitIn(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

function succeeds(folder: string, ...args: readonly string[]): boolean {
  try {
    gitIn(folder, ...args);
    return true;
  } catch {
    return false;
  }
}

/**
 * How many commits of src/ follow a commit; null if that is unknown: there is no git repository, or a shallow history ends
 * before the commit and is too short to be too long.
 * Errors: a full history without the commit.
 */
function commitsSince(folder: string, commit: string): number | null {
  if (!succeeds(folder, 'rev-parse', '--git-dir')) return null;
  const count = (range: string) => Number(gitIn(folder, 'rev-list', '--count', range, '--', 'src'));
  if (succeeds(folder, 'merge-base', '--is-ancestor', commit, 'HEAD')) return count(`${commit}..HEAD`);
  if (gitIn(folder, 'rev-parse', '--is-shallow-repository') !== 'true')
    throw new Error(`docs/performance.md names ${commit}, which is not in the history: run npm run bench`);
  // The first commit of a shallow history appears to add every file.
  const atLeast = count('HEAD') - 1;
  return atLeast > mostCommits ? atLeast : null;
}

test(`the page was measured on one of the last ${mostCommits} commits of src/`, (context) => {
  const commit = /^Commit: `([0-9a-f]{12})`/m.exec(page)?.[1] ?? '';
  expect(commit).not.toBe('');
  const since = commitsSince(root, commit);
  if (since === null) return context.skip('the history does not say how old the page is');
  expect(since, 'docs/performance.md is out of date: run npm run bench').toBeLessThanOrEqual(mostCommits);
});

describe('a ratio is ahead or behind only if its whole interval is', () => {
  test.each([
    ['ahead', [0.9, 0.92, 0.88, 0.91, 0.9, 0.93]],
    ['behind', [1.1, 1.2, 1.15, 1.12, 1.3, 1.11]],
    ['level', [0.9, 1.1, 0.95, 1.02, 0.98, 1.2]],
  ])('%s', (expected, ratios) => {
    const spread = spreadOf(ratios);
    expect(spread && standing(spread)).toBe(expected);
    // The same rounds have the same interval.
    expect(spreadOf(ratios)).toEqual(spread);
  });

  test('nothing measured has no interval', () => {
    expect(spreadOf([])).toBeNull();
  });
});
