import { jsonInSlices } from '../../src/engine/json.ts';

/**
 * `node test/long/measure-json.ts`: the processor time that a large answer's JSON takes by JSON.stringify and by
 * jsonInSlices, in milliseconds for each megabyte.
 */
const rows = 3_000;
const columns = 20;
const rounds = 10;

function answerOf(nameLength: number, text: string): object {
  const names = Array.from(
    { length: columns },
    (_, column) => 'a'.repeat(nameLength - 2) + String(column).padStart(2, '0'),
  );
  // As the executor does.
  const row = (at: number) => {
    const data: Record<string, unknown> = {};
    for (const name of names) data[name] = `${text}${at % 7}`;
    return data;
  };
  return { list: Array.from({ length: rows }, (_, at) => row(at)) };
}

async function msOf(serialize: () => unknown): Promise<number> {
  for (let round = 0; round < 3; round++) await serialize();
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) await serialize();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / rounds;
}

const written = async (data: object) => Buffer.concat((await jsonInSlices(data, Infinity)) ?? []);

for (const nameLength of [4, 16, 128]) {
  for (const text of ['Nicosia', 'Λευκωσία']) {
    const data = answerOf(nameLength, text);
    const megabytes = (await written(data)).length / 1_000_000;
    const standard = (await msOf(() => Buffer.from(JSON.stringify(data)))) / megabytes;
    const ours = (await msOf(() => written(data))) / megabytes;
    process.stdout.write(
      `names of ${nameLength}, ${text} (${megabytes.toFixed(1)} MB): JSON.stringify ${standard.toFixed(1)} ms/MB, in slices ${ours.toFixed(1)} ms/MB\n`,
    );
  }
}
