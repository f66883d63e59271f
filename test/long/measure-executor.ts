// How long bankql's executor and graphql's own take for the same operations over data that is there:
// `node test/long/measure-executor.ts`. When a later graphql compiles operations, its compiled execution belongs in `executors`:
// docs/decisions.md says what follows from its ratio.
import {
  buildSchema,
  type ExecutionResult,
  execute,
  type GraphQLFieldResolver,
  getOperationAST,
  getVariableValues,
  isObjectType,
  parse,
} from 'graphql';
import { prepareOperation } from '../../src/executor/compile.ts';

const schema = buildSchema(`
  type Query { accounts(count: Int!): [Account!]! later(count: Int!): [Account!]! }
  type Account { id: ID! label(prefix: String = "no. "): String balance: Amount! owners: [Owner!]! owner: Owner }
  type Amount { currency: String! amount: String! }
  type Owner { id: ID! name: String email: String }
`);

const owner = (id: number) => ({ id: `owner-${id}`, name: 'Alice Example', email: 'alice@example.org' });
const accounts = Array.from({ length: 100 }, (_, id) => ({
  id: `account-${id}`,
  label: 'Everyday account',
  balance: { currency: 'EUR', amount: '1234.56' },
  owners: [owner(id), owner(id + 1)],
}));
const resolvers: Readonly<Record<string, Readonly<Record<string, GraphQLFieldResolver<never, unknown>>>>> = {
  Query: {
    accounts: (_source, { count }) => accounts.slice(0, count),
    later: async (_source, { count }) => accounts.slice(0, count).map(async (account) => account),
  },
  Account: {
    id: ({ id }: { id: string }) => id,
    label: ({ label }: { label: string }, { prefix }) => `${prefix}${label}`,
    owner: async ({ owners: [first] }: { owners: readonly object[] }) => first,
  },
  Amount: { amount: ({ amount }: { amount: string }) => amount },
  Owner: { name: ({ name }: { name: string }) => name },
};
for (const [typeName, fields] of Object.entries(resolvers)) {
  const type = schema.getType(typeName);
  if (!isObjectType(type)) throw new Error(`the schema has no type ${typeName}`);
  for (const [name, resolve] of Object.entries(fields))
    Object.assign(type.getFields()[name] ?? {}, { resolve });
}

const selection = '{ id label balance { currency amount } owners { id name email } }';
const operations = {
  'one field': '{ __typename }',
  'one account': `query ($count: Int! = 1) { accounts(count: $count) ${selection} }`,
  '100 accounts': `{ accounts(count: 100) ${selection} }`,
  '100 accounts by promises': `{ later(count: 100) { id label owner { id name email } } }`,
};

type Run = () => ExecutionResult | Promise<ExecutionResult>;

/** What is done once for a document is done before. */
const executors: Readonly<Record<string, (text: string) => Run>> = {
  graphql: (text) => {
    const document = parse(text);
    return () => execute({ schema, document, contextValue: {}, variableValues: {} });
  },
  bankql: (text) => {
    const document = parse(text);
    const operation = getOperationAST(document);
    if (!operation) throw new Error('a document without an operation');
    const prepared = prepareOperation({ schema, document, operation });
    const definitions = operation.variableDefinitions ?? [];
    return () => {
      const { variableValues } = getVariableValues(schema, definitions, {});
      if (variableValues === undefined) throw new Error('the variables do not fit');
      return prepared.execute({}, variableValues);
    };
  },
};

/** Microseconds of the processor for each run, over this many milliseconds. */
async function microseconds(run: Run, milliseconds: number): Promise<number> {
  const start = performance.now();
  const cpu = process.cpuUsage();
  let runs = 0;
  while (performance.now() - start < milliseconds) {
    for (let more = 0; more < 10; more++) {
      const result = run();
      if (result instanceof Promise) await result;
    }
    runs += 10;
  }
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / runs;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const [name, text] of Object.entries(operations)) {
  const contenders = Object.entries(executors).map(([executor, prepare]) => ({
    executor,
    run: prepare(text),
    rounds: [] as number[],
  }));
  const answers = await Promise.all(contenders.map(async ({ run }) => JSON.stringify(await run())));
  if (new Set(answers).size !== 1) throw new Error(`the executors answer ${name} differently`);
  for (const { run } of contenders) await microseconds(run, 300);
  // In turn, so that all of them have the same neighbours.
  for (let round = 0; round < 9; round++)
    for (const { run, rounds } of contenders) rounds.push(await microseconds(run, 100));
  const own = median(contenders.find(({ executor }) => executor === 'bankql')?.rounds ?? []);
  const columns = contenders.map(({ executor, rounds }) => {
    const time = median(rounds);
    return `${executor} ${time.toFixed(1)} µs (${(time / own).toFixed(2)})`;
  });
  process.stdout.write(`${name}: ${columns.join(', ')}\n`);
}
