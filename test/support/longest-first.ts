import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The test files that take longest, in this order: those that start processes, and then the others. */
const longest = [
  'app/workers/worker-ends-or-is-replaced',
  'payments/store-is-away',
  'http/graphiql/page',
  'examples/web',
  'docs/quick-start',
  'payments/faults-at-random',
  'payments/store/postgres/postgres-driver',
  'ops/alerts',
  'payments/store/postgres/postgres-is-down-or-cut-off',
  'http/attacks',
  'payments/store/postgres/postgres-is-another-server',
  'http/greedy-callers',
  'payments/process-is-killed',
  'payments/same-key-at-once',
  'start-and-stop',
  'payments/store-is-away-seen-by-operators',
  'app/log-cannot-be-written',
  'no-secret-in-the-output',
  'examples/mobile-bff',
  'commands/payments/from-complaint-to-answer',
  'schema/updates',
  'http/unread-answers',
  'commands/payments/accept-loss',
  'commands/payments/store-files',
  'schema/concurrent-updates-model',
  'executor/same-as-graphql',
  'schema/records',
  'bank/reads',
  'commands/check-accepts-what-starts',
].map((name) => `/test/${name}.test.ts`);

const placeOf = ({ moduleId }: TestSpecification) => {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  return place === -1 ? longest.length : place;
};

/**
 * Runs the long test files of each project first, so that none of them runs alone at the end. vitest's default order uses the
 * times of an earlier run, which a fresh clone does not have.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...projects.values()].flatMap((all) => all.toSorted((a, b) => placeOf(a) - placeOf(b)));
  }
}
