import { Session } from 'node:inspector/promises';
import { pathToFileURL } from 'node:url';
import { readConfig } from '../src/config/config.ts';
import { createTestBankql } from '../test/support/bankql.ts';
import { startRecordingBank } from '../test/support/recording-bank.ts';
import { prepareAnswers } from './bank/answers.ts';
import * as records from './bank/records.ts';
import { shapes, titleOf } from './shapes.ts';

/** Counts the function calls of one warm operation by V8's precise coverage: noise does not change them. */

/** Functions of the executor and of DataLoader that are counted by themselves. */
const counted = ['PendingField', 'load', 'argumentsOf', 'spend'];

const answers = prepareAnswers();
const bank = await startRecordingBank();
bank.otherwise(({ path }) => {
  const answer = answers.get(path);
  if (answer === undefined) return { status: 404, body: {} };
  const [, body = ''] = answer.whole.toString().split('\r\n\r\n');
  return { body };
});
const { limits, documentLimits } = readConfig({}).server;
await using bankql = await createTestBankql({
  bankUrl: bank.url,
  limits,
  documentLimits,
  defaults: { bankId: records.bankId, viewId: records.viewId },
});
const session = new Session();
session.connect();
await session.post('Profiler.enable');
const root = pathToFileURL(`${import.meta.dirname}/..`).href;

for (const shape of shapes) {
  for (let warm = 0; warm < 3; warm++) {
    const { errors } = await bankql.ask(shape.query);
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
  }
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await bankql.ask(shape.query);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  const functions = result.flatMap(({ url, functions }) =>
    functions.map(({ functionName, ranges: [range] }) => ({
      file: url.replace(`${root}/`, ''),
      name: functionName,
      calls: range === undefined || range.startOffset === 0 ? 0 : range.count,
    })),
  );
  const own = functions.filter(({ file }) => file.startsWith('src/'));
  const sum = (list: typeof functions) => list.reduce((calls, each) => calls + each.calls, 0);
  const named = counted.map((name) => {
    const all = functions.filter(
      (each) =>
        each.name === name && (each.file.startsWith('src/executor') || each.file.includes('/dataloader/')),
    );
    return `${name} ${sum(all)}`;
  });
  const folders = ['executor', 'schema', 'loaders', 'bank', 'graphql', 'load'].map(
    (folder) => `${folder} ${sum(own.filter(({ file }) => file.startsWith(`src/${folder}/`)))}`,
  );
  process.stdout.write(`${titleOf(shape)}: own ${sum(own)} (${folders.join(', ')}); ${named.join(', ')}\n`);
}
session.disconnect();
await bank.close();
