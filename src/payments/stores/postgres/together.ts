import DataLoader from 'dataloader';

/** Does the jobs that come while a statement is under way in the next one, so that they share a round trip and a commit. */
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
      // A turn later, because the answers to one batch often make the next one.
      batchScheduleFn: (dispatch) => void underWay.then(() => setImmediate(dispatch)),
    },
  );
  return (job: Job): Promise<Answer> => loader.load(job);
}
