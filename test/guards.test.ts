import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { variables as allVariables } from '../src/config/variables.ts';
import { errorCodes } from '../src/errors.ts';

/** Rules that hold for the whole project. */

const root = join(import.meta.dirname, '..');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: file.split(sep).join('/'), text: readFileSync(join(root, 'src', file), 'utf8') }));
/** The paths of test files below test/. Packages of the clients are excluded, because they may be installed at this moment. */
const testFiles = globSync('**/*.test.ts', { cwd: join(root, 'test'), exclude: ['**/node_modules'] }).map(
  (file) => file.split(sep).join('/'),
);
const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)].map(([, target = '']) =>
    relative('.', join(dirname(file), target))
      .split(sep)
      .join('/'),
  );
/** The files that each file imports, including those of which it imports only types. */
const imports = new Map(sources.map(({ file, text }) => [file, importsOf(file, text)]));
/** The files that each file loads when it runs. */
const runtimeImports = new Map(
  sources.map(({ file, text }) => [
    file,
    importsOf(file, text.replaceAll(/^(?:import|export) type [^;]*;/gm, '')),
  ]),
);
const page = (name: string) => readFileSync(join(root, name), 'utf8');
const development = page('CONTRIBUTING.md');
const errors = page('docs/errors.md');

const inGraphql = [
  'errors.ts',
  'get-or-make.ts',
  'own-copy.ts',
  'load',
  'bank',
  'payments',
  'executor',
  'schema',
];
const inApp = [
  'version.ts',
  'errors.ts',
  'load',
  'queue.ts',
  'plain-text.ts',
  'key-pair.ts',
  'bank',
  'payments',
  'schema',
  'executor',
  'graphql',
  'http',
  'agents',
  'telemetry',
  'sandbox',
  'config',
];
/** The folders that each layer may import, in addition to itself: the rule in the test's name. */
const layers: Record<string, readonly string[]> = {
  'is-object.ts': [],
  'get-or-make.ts': [],
  'own-copy.ts': [],
  'plain-text.ts': [],
  'queue.ts': [],
  'errors.ts': [],
  load: [],
  client: ['errors.ts'],
  contract: ['is-object.ts', 'get-or-make.ts'],
  bank: ['errors.ts', 'is-object.ts', 'get-or-make.ts', 'load', 'contract'],
  loaders: ['get-or-make.ts', 'contract', 'bank'],
  payments: ['errors.ts', 'is-object.ts', 'key-pair.ts', 'queue.ts', 'contract', 'bank'],
  executor: ['get-or-make.ts', 'load'],
  schema: [
    'errors.ts',
    'is-object.ts',
    'get-or-make.ts',
    'load',
    'contract',
    'bank',
    'loaders',
    'payments',
    'executor',
  ],
  graphql: [...inGraphql, 'plain-text.ts', 'contract'],
  http: [...inGraphql, 'is-object.ts', 'graphql'],
  agents: [
    'version.ts',
    'errors.ts',
    'is-object.ts',
    'plain-text.ts',
    'payments',
    'executor',
    'schema',
    'graphql',
    'http',
  ],
  telemetry: [
    'version.ts',
    'errors.ts',
    'get-or-make.ts',
    'own-copy.ts',
    'load',
    'contract',
    'bank',
    'payments',
    'graphql',
    'http',
  ],
  sandbox: ['get-or-make.ts', 'plain-text.ts', 'contract'],
  doctor: ['errors.ts', 'is-object.ts', 'plain-text.ts', 'contract', 'bank', 'payments'],
  config: [
    'errors.ts',
    'load',
    'plain-text.ts',
    'bank',
    'payments',
    'schema',
    'http',
    'telemetry',
    'sandbox',
  ],
  // `command.ts` holds the types of a command's context and of a service.
  app: [...inApp, 'commands'],
  commands: [...inApp, 'contract', 'doctor', 'app'],
  'version.ts': [],
  'key-pair.ts': [],
  'main.ts': ['app', 'commands', 'config'],
  'index.ts': ['app', 'commands', 'config', 'errors.ts', 'schema', 'version.ts'],
};

const layerOf = (file: string) => file.split('/')[0] ?? file;

test('a file imports its own layer or one to its left: contract ← bank ← loaders, payments ← schema ← graphql ← http ← agents, telemetry ← app ← commands ← main; executor ← schema; contract ← sandbox ← config, commands; bank, payments ← doctor ← commands', () => {
  const broken: string[] = [];
  for (const [file, targets] of imports) {
    for (const imported of targets) {
      const [from, to] = [layerOf(file), layerOf(imported)];
      if (from !== to && !layers[from]?.includes(to)) broken.push(`${file} imports ${imported}`);
    }
  }
  expect(broken).toEqual([]);
  expect(Object.keys(layers).sort()).toEqual([...new Set(sources.map(({ file }) => layerOf(file)))].sort());
});

test('no files import each other in a circle when they run, except the types of the schema', () => {
  const path: string[] = [];
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string): void => {
    if (done.has(file)) return;
    const start = path.indexOf(file);
    if (start !== -1) {
      circles.push([...path.slice(start), file].join(' → '));
      return;
    }
    path.push(file);
    // Types refer to each other inside `fields` functions (schema/import-order.test.ts).
    for (const imported of runtimeImports.get(file) ?? [])
      if (layerOf(file) !== 'schema' || layerOf(imported) !== 'schema') visit(imported);
    path.pop();
    done.add(file);
  };
  for (const file of runtimeImports.keys()) visit(file);
  expect(circles).toEqual([]);
});

test('each folder of test/ mirrors one of src/, or is named here', () => {
  const others = [
    'bench',
    'clients',
    'docs',
    'examples',
    'generated',
    'long',
    'ops',
    'simulation',
    'support',
  ];
  const folders = readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !others.includes(entry.name))
    .map(({ name }) => name);
  expect(folders.filter((folder) => !existsSync(join(root, 'src', folder)))).toEqual([]);
});

test('`process` appears in main.ts alone', () => {
  const code = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|`[^`]*`/g, '');
  const users = sources
    // nextTick is allowed, because it is a timer and not state of the process. The `process` of a worker
    // object is not the global one.
    .filter(({ text }) => /(?<!\bworker\.)\bprocess\b(?!\.nextTick\b)|node:process/.test(code(text)))
    .map(({ file }) => file);
  expect(users).toEqual(['main.ts']);
});

test('no text becomes code: no `new Function`, `eval` or `node:vm`', () => {
  const makers =
    /\bnew\s+Function\b|\bFunction\s*\(|\beval\s*\(|\bvm\.|node:vm|['"]vm['"]|\bimport\(\s*[^'\s]/;
  expect(sources.filter(({ text }) => makers.test(text)).map(({ file }) => file)).toEqual([]);
});

test('a record with operations has a file of the same name in contract/, schema/ and sandbox/records/', () => {
  const names = sources
    .filter(({ text }) => text.includes(' = operation({'))
    .map(({ file }) => file.replace('contract/', ''));
  expect(names.length).toBeGreaterThan(8);
  const files = new Set(sources.map(({ file }) => file));
  const missing = ['contract', 'schema', 'sandbox/records']
    .flatMap((folder) => names.map((name) => `${folder}/${name}`))
    .filter((file) => !files.has(file));
  expect(missing).toEqual([]);
});

/** The first cells of a table's rows, if they are code. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell);

test('the README has at most 150 lines', () => {
  expect(page('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

test('every file of the recipes is there', () => {
  const named = [...page('CONTRIBUTING.md').matchAll(/`((?:src|test|docs)\/[\w./-]+\.(?:ts|md))`/g)]
    .map(([, file = '']) => file)
    .filter((file) => file !== 'test/a/b.test.ts' && file !== 'src/a/b.ts');
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

describe('the documentation', () => {
  test('names every error code that the code has, and no other', () => {
    expect(firstCells(errors).sort()).toEqual(Object.keys(errorCodes).sort());
  });

  test('says which codes are retryable', () => {
    const said = [...errors.matchAll(/^\| `([^`]+)` \|.*\| (yes|no) \|$/gm)].map(([, code, retryable]) => [
      code,
      retryable === 'yes',
    ]);
    expect(Object.fromEntries(said)).toEqual(
      Object.fromEntries(Object.entries(errorCodes).map(([code, { retryable }]) => [code, retryable])),
    );
  });

  test('says of each script what it does, and of no other', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const commands = [...development.matchAll(/^\| (`npm .*?) \|/gm)].map(([, cell = '']) => cell).join();
    const said = [...commands.matchAll(/npm (?:run (?:--silent )?)?([\w:-]+)|`(check:\w+)`/g)].map(
      ([, script, check]) => script ?? check,
    );
    expect(said.sort()).toEqual(Object.keys(Reflect.get(Object(manifest), 'scripts')).sort());
  });

  test('has a reason for each direct dependency', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const names = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.keys(Reflect.get(Object(manifest), kind)),
    );
    expect(firstCells(development.split('\n## Dependencies\n')[1] ?? '').sort()).toEqual(names.sort());
  });
});

test('every metric, and no other, has its row in docs/observability.md', () => {
  const page = readFileSync(join(root, 'docs/observability.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `(bankql_\w+)` \|/gm)].map(([, name]) => name);
  const telemetry = sources
    .filter(({ file }) => file.startsWith('telemetry/'))
    .map(({ text }) => text)
    .join('\n');
  expect(documented.sort()).toEqual(
    [...telemetry.matchAll(/'(bankql_\w+)'/g)].map(([, name]) => name).sort(),
  );
});

test('an operation is one of GraphQL: those of the bank are called bank operations', () => {
  const metrics = sources
    .filter(({ file }) => file.startsWith('telemetry/'))
    .flatMap(({ text }) => [...text.matchAll(/'(bankql_\w+)',\s*'([^']+)'/g)])
    .map(([, name = '', help = '']) => ({ name, text: help }));
  const variables = Object.entries(allVariables).map(([name, { description = '' }]) => ({
    name,
    text: description,
  }));
  const descriptions = [...readFileSync(join(root, 'schema.graphql'), 'utf8').matchAll(/"""([^"]+)"""/g)].map(
    ([, text = '']) => ({ name: 'schema.graphql', text }),
  );
  expect(metrics.length).toBeGreaterThan(30);
  const ofBank = /\b(?:bank|REST) operations?\b/g;
  const alone = (text: string) =>
    /\boperations?\b(?!`)/.test(text.replaceAll(/\]\([^)]*\)/g, '').replaceAll(ofBank, ''));
  const unclear = [...metrics, ...variables, ...descriptions].flatMap(({ name, text }) =>
    text
      .split(/(?<=[.;:]) /)
      .filter((sentence) => alone(sentence) && (isOfBank(name) || sentence.search(ofBank) >= 0))
      .map((sentence) => `${name}: ${sentence}`),
  );
  expect(unclear).toEqual([]);
});

const isOfBank = (name: string) => /^(?:BANK_|bankql_(?!graphql_))/.test(name);

test('tests wait for events: timers are those of support/waits.ts, and of other processes', () => {
  /** These files contain the source text of processes that they start. */
  const ofProcesses = ['app/log-cannot-be-written.test.ts'];
  const waiting = testFiles
    .filter((file) => !ofProcesses.includes(file))
    .filter((file) => /\b(?:setTimeout|delay|sleep)\(/.test(readFileSync(join(root, 'test', file), 'utf8')));
  expect(waiting).toEqual([]);
});

test('no test has a time limit of its own: a slow machine takes longer, and changes no verdict', () => {
  const limit =
    /\bvi\.waitFor\(|\btestTimeout\b|\bretry: \d|\.poll\([^;]*\btimeout: \d|^\s*\}, [\d_]{4,}\);$/m;
  const limited = testFiles
    .filter((file) => file !== 'guards.test.ts')
    .filter((file) => limit.test(readFileSync(join(root, 'test', file), 'utf8')));
  expect(limited).toEqual([]);
});

test('versions are pinned, and the lock has a hash for every package', () => {
  const lock: unknown = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const packages = Object.entries(Reflect.get(Object(lock), 'packages') ?? {}).filter(
    ([name]) => name !== '',
  );
  expect(packages.length).toBeGreaterThan(100);
  expect(
    packages.filter(([, entry]) => !Reflect.get(Object(entry), 'integrity')).map(([name]) => name),
  ).toEqual([]);
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const version of Object.values(Reflect.get(Object(manifest), kind))) {
      expect(version).toMatch(/^(?:npm:[@\w/-]+@)?\d+\.\d+\.\d+$/);
    }
  }
});

test('one copy of graphql is installed', () => {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  expect(lock.match(/"(node_modules\/.*\/)?node_modules\/graphql": \{/g)).toHaveLength(1);
});

test('a test is called `test`: there is one name for one thing', () => {
  const others = testFiles.filter((file) =>
    /import \{[^}]*\bit\b[^}]*\} from 'vitest'/.test(readFileSync(join(root, 'test', file), 'utf8')),
  );
  expect(others).toEqual([]);
});
