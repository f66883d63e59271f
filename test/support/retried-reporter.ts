import type { Reporter, TestModule } from 'vitest/node';

/** Names the tests that passed only when they ran once more, with what failed first: the default report hides them. */
export default class RetriedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules)
      for (const test of module.children.allTests('passed')) {
        if (test.diagnostic()?.flaky !== true) continue;
        const [first] = test.result().errors ?? [];
        process.stdout.write(
          `RETRIED ${module.relativeModuleId} > ${test.fullName}: ${first?.message ?? ''}\n`,
        );
      }
  }
}
