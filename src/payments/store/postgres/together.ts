import DataLoader from 'dataloader';

/**
 * Collects jobs while a statement is in progress, and does them in the next statement: they share a round trip and a commit.
 */
export function together<Job, Answer>(work: (jobs: readonly Job[]) => Promise<(job: Job) => Answer>) {
  let underWay: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Job, Answer>(
    (jobs) => {
      const answers = work(jobs).then((answerTo) => jobs.map(answerTo));
      underWay = answers.catch(() => {});
      return answers;
    },
    {
      cache: false,
      // One iteration of the event loop later, because the answers to one batch often cause the next jobs.
      batchScheduleFn: (dispatch) => void underWay.then(() => setImmediate(dispatch)),
    },
  );
  return (job: Job): Promise<Answer> => loader.load(job);
}
