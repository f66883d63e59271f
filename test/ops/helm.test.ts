import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { variableNames } from '../../src/config/variables.ts';

/**
 * The Helm chart. `helm` renders it if it is installed (npm and Debian have no package of it); without it only the templates'
 * own text is checked.
 */

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'ops/helm');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const hasHelm = spawnSync('helm', ['version']).status === 0;
if (!hasHelm) process.stdout.write('skipped: rendering the Helm chart, since helm is not installed\n');
const values = parse(read('ops/helm/values.yaml'));
const templates = readdirSync(join(chart, 'templates')).map((file) => read(`ops/helm/templates/${file}`));

/** A Kubernetes object, as YAML has it. */
// biome-ignore lint/suspicious/noExplicitAny: objects of a dozen kinds, read by the assertions below
type KubernetesObject = Record<string, any>;

function render(...set: string[]): KubernetesObject[] {
  const args = ['template', 'bankql', chart, ...set.flatMap((pair) => ['--set', pair])];
  return parseAllDocuments(execFileSync('helm', args, { encoding: 'utf8' }))
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}
const ofKind = (objects: readonly KubernetesObject[], kind: string) =>
  objects.find((object) => object.kind === kind) ?? {};

test('templates use values that there are, and every value is used', () => {
  const used = new Set(
    templates.flatMap((text) =>
      [...text.matchAll(/\$?\.Values((?:\.\w+)+)/g)].map(([, path = '']) => path.slice(1)),
    ),
  );
  const paths = (value: unknown, path: string[] = []): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, inner]) => paths(inner, [...path, name]))
      : [path.join('.')];
  const known = paths(values);
  const covers = (one: string, other: string) => one === other || one.startsWith(`${other}.`);
  expect([...used].filter((path) => !known.some((each) => covers(each, path)))).toEqual([]);
  expect(known.filter((path) => ![...used].some((each) => covers(path, each)))).toEqual([]);
});

test('it has the alerts of ops/prometheus, and the version of the package', () => {
  expect(read('ops/helm/alerts.yml')).toBe(read('ops/prometheus/alerts.yml'));
  const { version } = JSON.parse(read('package.json'));
  expect(parse(read('ops/helm/Chart.yaml'))).toMatchObject({ version, appVersion: version });
});

describe.skipIf(!hasHelm)('rendered', () => {
  const all = [
    'rateLimit.perCaller=300/60',
    'rateLimit.secret=bankql',
    'bank.tlsSecret=bank-tls',
    'bank.tlsAuthority=true',
    'subscriptionKeySecret=bankql',
    'environment.LOG_LEVEL=warn',
    'ingress.enabled=true',
    'ingress.tlsSecret=tls',
    'serviceMonitor.enabled=true',
    'prometheusRule.enabled=true',
    'prometheusRule.docsUrl=https://docs.example/bankql',
    'workers=2',
  ];

  test('with its defaults: what kustomize has, without what needs the Prometheus operator', () => {
    const objects = render();
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      'ConfigMap',
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
    ]);
    const container = ({ spec }: KubernetesObject) => spec.template.spec.containers[0];
    const ours = container(ofKind(objects, 'Deployment'));
    const theirs = container(parse(read('ops/kubernetes/deployment.yaml')));
    for (const part of [
      'securityContext',
      'startupProbe',
      'readinessProbe',
      'livenessProbe',
      'resources',
      'ports',
      'env',
    ])
      expect(ours[part], part).toEqual(theirs[part]);
    const selector = ofKind(objects, 'Service').spec.selector;
    expect(ofKind(objects, 'Deployment').spec.template.metadata.labels).toMatchObject(selector);
    expect(ofKind(objects, 'NetworkPolicy').spec.podSelector.matchLabels).toEqual(selector);
  });

  test('with everything: variables that bankql reads, secrets by reference, alerts with their own addresses', () => {
    const objects = render(...all);
    const { data } = ofKind(objects, 'ConfigMap');
    expect(data).toMatchObject({
      RATE_LIMIT: '300/60',
      WORKERS: '2',
      LOG_LEVEL: 'warn',
      BANK_TLS_CA: '/etc/bankql/tls/ca.crt',
    });
    const { env } = ofKind(objects, 'Deployment').spec.template.spec.containers[0];
    const names: string[] = [...Object.keys(data), ...env.map(({ name }: { name: string }) => name)];
    expect(names.filter((name) => !variableNames.some((known) => known === name))).toEqual([]);
    for (const { valueFrom } of env) expect(valueFrom.secretKeyRef.name).toBe('bankql');
    const [group] = ofKind(objects, 'PrometheusRule').spec.groups;
    expect(group.rules.length).toBeGreaterThan(20);
    for (const { annotations } of group.rules)
      expect(annotations.runbook_url).toMatch(/^https:\/\/docs\.example\/bankql\/runbook\.html#/);
    expect(ofKind(objects, 'ServiceMonitor').spec.jobLabel).toBe('app.kubernetes.io/name');
    expect(ofKind(objects, 'Ingress').spec.tls).toEqual([{ hosts: ['bankql.example'], secretName: 'tls' }]);
  });
});
