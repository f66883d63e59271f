import { JsonWriter } from '../../src/engine/json.ts';

/**
 * `node test/long/measure-json.ts`: the processor time that a large answer's JSON takes by JSON.stringify and by
 * JsonWriter, in milliseconds for each megabyte.
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

function msOf(serialize: () => unknown): number {
  for (let round = 0; round < 3; round++) serialize();
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) serialize();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / rounds;
}

function written(data: object): Buffer {
  const writer = new JsonWriter(data, 256 * 1024);
  while (!writer.writeChunk());
  return Buffer.concat(writer.chunks);
}

for (const nameLength of [4, 16, 128]) {
  for (const text of ['Nicosia', 'Λευκωσία']) {
    const data = answerOf(nameLength, text);
    const megabytes = written(data).length / 1_000_000;
    const standard = msOf(() => Buffer.from(JSON.stringify(data))) / megabytes;
    const ours = msOf(() => written(data)) / megabytes;
    process.stdout.write(
      `names of ${nameLength}, ${text} (${megabytes.toFixed(1)} MB): JSON.stringify ${standard.toFixed(1)} ms/MB, JsonWriter ${ours.toFixed(1)} ms/MB\n`,
    );
  }
}
