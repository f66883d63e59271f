import { setImmediate as nextTurn } from 'node:timers/promises';

/** Does the jobs that come while a statement is under way in the next one, so that they share a round trip and a commit. */
export function together<Job, Answer>(work: (jobs: readonly Job[]) => Promise<(job: Job) => Answer>) {
  let waiting: { job: Job; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let isServing = false;
  async function serve(): Promise<void> {
    isServing = true;
    while (waiting.length > 0) {
      // The answers to one batch often make the next one.
      await nextTurn();
      const batch = waiting;
      waiting = [];
      try {
        const answerTo = await work(batch.map(({ job }) => job));
        for (const { job, resolve } of batch) resolve(answerTo(job));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isServing = false;
  }
  return (job: Job): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push({ job, resolve, reject });
      if (!isServing) void serve();
    });
}
