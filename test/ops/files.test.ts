import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { variableNames } from '../../src/config/variables.ts';

/** What the files in ops/ say about bankql is true, and the files agree with each other. */

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, 'ops', file), 'utf8');
const yamlFiles = readdirSync(join(root, 'ops'), { recursive: true, encoding: 'utf8' }).filter((file) =>
  // Templates of the chart are not YAML until helm renders them.
  /^(?!helm.templates).*\.ya?ml$/.test(file),
);
const compose = parse(read('compose/compose.yaml'), { merge: true });
const known: ReadonlySet<string> = new Set([...variableNames, 'NODE_OPTIONS']);

test.each(yamlFiles)('%s is YAML without errors', (file) => {
  const documents = parseAllDocuments(read(file), { strict: true, merge: true });
  expect([documents].flat().flatMap(({ errors }) => errors)).toEqual([]);
});

test('they set variables that bankql reads', () => {
  const dockerfile = /^ENV ((?:.*\\\n)*.*)$/m.exec(read('Dockerfile'))?.[1] ?? '';
  const unit = [...read('systemd/bankql@.service').matchAll(/^Environment=(.*)$/gm)].map(([, text]) => text);
  const names = [
    ...Object.keys(compose.services['bankql-1'].environment),
    ...[...`${dockerfile} ${unit.join(' ')}`.matchAll(/(?<![\w-])([A-Z_]+)=/g)].map(([, name = '']) => name),
  ];
  expect(names.length).toBeGreaterThan(12);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('their PostgreSQL keeps payments across a power cut', () => {
  expect(compose.services.postgres.command.join(' ')).toMatch(
    /fsync=on .*full_page_writes=on .*synchronous_commit=on/,
  );
});

test('a new store is made by a person, once: each file says how, and none does it by itself', () => {
  const files = ['compose/compose.yaml', 'systemd/bankql@.service', 'helm/values.yaml'];
  for (const file of files)
    expect([file, /^# .*\bpayment store\b.*\bonce\b/m.test(read(file))]).toEqual([file, true]);
  expect(read('compose/compose.yaml')).toMatch(/^# .* run --build --rm bankql-1 payments init$/m);
  const everywhere = readdirSync(join(root, 'ops'), {
    recursive: true,
    encoding: 'utf8',
    withFileTypes: true,
  })
    .filter((entry) => entry.isFile() && entry.name !== 'payments-init.yaml')
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').replaceAll(/^\s*#.*$/gm, ''));
  expect(
    everywhere.filter((text) => /payments['",\s]+init|initContainers|ExecStartPre|helm\.sh\/hook/.test(text)),
  ).toEqual([]);
});

test.each(['runbook.md', 'operate.md'])('the commands of %s get the store and folder of the unit', (page) => {
  const unit = read('systemd/bankql@.service').replaceAll('%i', 'main');
  const [command = ''] =
    /bankql-in-service\(\) \{[^}]*\}/.exec(readFileSync(join(root, 'docs', page), 'utf8')) ?? [];
  const settings = [...unit.matchAll(/^Environment=(STATE_.*)$/gm)].map(([, setting = '']) => setting);
  expect(settings).toHaveLength(1);
  for (const setting of settings) expect(command).toContain(` -E ${setting} `);
  const [, folders] = /^StateDirectory=(.*)$/m.exec(unit) ?? [];
  expect(command).toContain(` -p StateDirectory="${folders}" `);
  for (const name of ['User', 'EnvironmentFile'])
    expect(command).toContain(` -p ${new RegExp(`^${name}=.*$`, 'm').exec(unit)?.[0]} `);
});

test('payments that are under way may end: DRAIN_DELAY_MS, BANK_TRANSFER_TIMEOUT_MS and 20 s', () => {
  const secondsOf = (environment: Record<string, string>) => {
    const { server, bankLimits } = readConfig(environment);
    return (server.drainDelayMs + bankLimits.paymentTimeoutMs) / 1000 + 20;
  };
  const { DRAIN_DELAY_MS } = compose.services['bankql-1'].environment;
  expect(compose.services['bankql-1'].stop_grace_period).toBe(`${secondsOf({ DRAIN_DELAY_MS })}s`);
  expect(read('systemd/bankql@.service')).toMatch(new RegExp(`^TimeoutStopSec=${secondsOf({})}$`, 'm'));
});

test('the unit opens the port of the metrics that the runbook asks', () => {
  expect(read('systemd/bankql@.service')).toMatch(/^Environment=METRICS_PORT=9464$/m);
});

test('one path of the command: the unit starts it where npm installs it, the image has it on its PATH', () => {
  expect(read('systemd/bankql@.service')).toMatch(/^ExecStart=\/usr\/local\/bin\/bankql$/m);
  expect(read('systemd/bankql@.service')).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(read('Dockerfile')).toContain('ln -s /bankql/bin/bankql.js /usr/local/bin/bankql');
  const install = 'npm install --global --prefix /usr/local';
  for (const page of ['docs/operate.md', 'ops/systemd/bankql@.service'])
    expect(readFileSync(join(root, page), 'utf8')).toContain(install);
});

test('replicas of compose are not root, and write nothing', () => {
  expect(read('Dockerfile')).toMatch(/^USER 1000:1000$/m);
  for (const name of ['bankql-1', 'bankql-2'])
    expect(compose.services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
});

test('the image is made of one other, which an argument names: a bank may have it from elsewhere, and nothing besides', () => {
  const dockerfile = read('Dockerfile');
  const sources = dockerfile.match(/^FROM .*$/gm) ?? [];
  expect(sources.filter((line) => !/^FROM node:\$\{NODE\}( AS \w+)?$/.test(line))).toEqual([]);
  expect(sources.length).toBeGreaterThan(1);
  // Such a line names a frontend, which a builder would fetch as an image.
  expect(dockerfile).not.toMatch(/^#\s*syntax\s*=/im);
});

test('the build of the image gets each file that it copies, and no other', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  );
  const [, ...sent] = read('Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(copied.length).toBeGreaterThan(5);
  expect(sent.sort()).toEqual([...new Set(copied.map((file) => `!${file}`))].sort());
});

test('the image, Prometheus and nginx agree on ports', () => {
  expect(read('Dockerfile')).toMatch(/^EXPOSE 4000 9464$/m);
  expect(parse(read('compose/prometheus.yml')).scrape_configs[0].static_configs[0].targets).toEqual([
    'bankql-1:9464',
    'bankql-2:9464',
  ]);
  expect(read('compose/nginx.conf').match(/^ {2}server bankql-\d:4000/gm)).toHaveLength(4);
});
