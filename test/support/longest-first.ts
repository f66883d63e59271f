import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Test files that take ten seconds and more, longest first, as a quiet machine of two cores takes them. */
const longest = [
  'server/graphiql/page',
  'payments/state-unavailable',
  'commands/workers/primary',
  'payments/crash',
  'payments/stores/sqlite/sqlite-store',
  'simulation/interleavings',
  'main',
  'payments/history',
  'server/unread',
  'secrets-process',
  'server/attacks',
  'payments/at-most-once',
  'ops/alerts',
  'payments/stores/postgres/postgres-driver',
  'examples/mobile-bff',
  'server/isolation',
  'docs/quick-start',
  'payments/stores/postgres/postgres-faults',
  'executor/differential',
  'payments/state-seen',
  'schema/call-estimate',
  'bank/retry',
].map((name) => `/test/${name}.test.ts`);

const placeOf = ({ moduleId }: TestSpecification) => {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  return place === -1 ? longest.length : place;
};

/**
 * The long test files of each project before its others, so that none of them runs alone at the end. vitest orders by what it
 * remembers of the run before, which a fresh clone has not.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...projects.values()].flatMap((all) => all.toSorted((a, b) => placeOf(a) - placeOf(b)));
  }
}
