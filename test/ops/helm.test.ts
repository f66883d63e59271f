import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { variableNames } from '../../src/config/variables.ts';

/**
 * The Helm chart. If `helm` is installed, it renders the chart (.ci/run does that); otherwise only the text of the templates is
 * checked. The objects are checked against Kubernetes' own types, which contain every field.
 */

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'ops/helm');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const hasHelm = spawnSync('helm', ['version']).status === 0;
if (!hasHelm) process.stdout.write('skipped: rendering the Helm chart, since helm is not installed\n');
const values = parse(read('ops/helm/values.yaml'));
const templates = readdirSync(join(chart, 'templates')).map((file) => read(`ops/helm/templates/${file}`));

/** A Kubernetes object, parsed from YAML. */
// biome-ignore lint/suspicious/noExplicitAny: objects of a dozen kinds, read by the assertions below
type KubernetesObject = Record<string, any>;

function render(...set: string[]): KubernetesObject[] {
  const args = ['template', 'bankql', chart, ...set.flatMap((pair) => ['--set', pair])];
  return documentsOf(execFileSync('helm', args, { encoding: 'utf8', stdio: 'pipe' }));
}
const documentsOf = (text: string): KubernetesObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
const ofKind = (objects: readonly KubernetesObject[], kind: string) =>
  objects.find((object) => object.kind === kind) ?? {};

/**
 * The module of kubernetes-types for an API. It does not contain the kinds of the Prometheus operator (promtool checks the
 * alerts).
 */
const moduleOf = (apiVersion: string): string | null =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? null
    : `kubernetes-types/${apiVersion === 'v1' ? 'core/v1' : apiVersion.replace(/\.k8s\.io/, '')}`;

/** The compiler's errors for the objects as values of Kubernetes' types: unknown fields, missing fields, wrong types. */
function typeErrors(objects: readonly KubernetesObject[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-kubernetes-'));
  const values = objects.flatMap((object, index) => {
    const module = moduleOf(object.apiVersion);
    const name = `${object.kind}${index}`;
    return module === null
      ? []
      : [
          `import type { ${object.kind} as ${name} } from '${module}';`,
          `export const object${index}: ${name} = ${JSON.stringify(object)};`,
        ];
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'objects.ts'), values.join('\n'));
  const tsc = join(root, 'node_modules/.bin/tsc');
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', ''];
  const { stdout } = spawnSync(tsc, [...options, 'objects.ts'], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return stdout;
}

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

test('it has the version of the package', () => {
  const { version } = JSON.parse(read('package.json'));
  expect(parse(read('ops/helm/Chart.yaml'))).toMatchObject({ version, appVersion: version });
});

describe.skipIf(!hasHelm)('rendered', () => {
  const all = [
    'rateLimit=300/60',
    'bank.tlsSecret=bank-tls',
    'bank.tlsAuthority=true',
    'store.tlsSecret=postgres-ca',
    'subscriptionKeySecret=bankql',
    'environment.LOG_LEVEL=warn',
    'ingress.enabled=true',
    'ingress.tlsSecret=tls',
    'serviceMonitor.enabled=true',
    'prometheusRule.enabled=true',
    'monitoringLabels.release=kube-prometheus-stack',
    'prometheusRule.runbookUrl=https://docs.example/runbook.html',
    'workers=2',
  ];

  const defaults = hasHelm ? render() : [];
  const secrets = { STATE_URL: 'postgres://bankql@store/bankql' };
  const podOf = (object: KubernetesObject) => object.spec.template.spec;

  test('with its defaults: without what needs the Prometheus operator, and without the job of a person', () => {
    expect(defaults.map(({ kind }) => kind).sort()).toEqual([
      'ConfigMap',
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
    ]);
  });

  test('ports, probes and labels belong together', () => {
    const deployment = ofKind(defaults, 'Deployment');
    const [container] = podOf(deployment).containers;
    expect(container.ports.map(({ containerPort }: { containerPort: number }) => containerPort)).toEqual([
      4000, 9464,
    ]);
    expect(container.readinessProbe.httpGet.path).toBe('/ready');
    expect(container.livenessProbe.httpGet.path).toBe('/health');
    const { labels } = deployment.spec.template.metadata;
    expect(labels).toMatchObject(ofKind(defaults, 'Service').spec.selector);
    expect(labels).toMatchObject(ofKind(defaults, 'NetworkPolicy').spec.podSelector.matchLabels);
    expect(labels).toMatchObject(ofKind(defaults, 'PodDisruptionBudget').spec.selector.matchLabels);
  });

  test('a pod is not root, writes nothing, gets no variables of Services, and has time to end payments', () => {
    const deployment = ofKind(defaults, 'Deployment');
    for (const pod of [podOf(deployment), podOf(ofKind(render('paymentsInit=true'), 'Job'))]) {
      expect(pod.enableServiceLinks).toBe(false);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
      expect(pod.containers[0].securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
      });
    }
    for (const set of [[], ['drainDelayMs=2000', 'environment.BANK_TRANSFER_TIMEOUT_MS=60001']]) {
      const objects = render(...set);
      const { server, bankLimits } = readConfig({ ...secrets, ...ofKind(objects, 'ConfigMap').data });
      const milliseconds = server.drainDelayMs + bankLimits.paymentTimeoutMs + 20_000;
      expect(podOf(ofKind(objects, 'Deployment')).terminationGracePeriodSeconds).toBe(
        Math.ceil(milliseconds / 1000),
      );
    }
  });

  test('who proves callers is not assumed: with the operator’s key the configuration asks, and the Ingress proves nobody', () => {
    const read =
      (...set: string[]) =>
      () =>
        readConfig({
          ...ofKind(render(...set), 'ConfigMap').data,
          // These variables come from the image, and from secrets.
          HOST: '0.0.0.0',
          STATE_URL: 'postgres://bankql@store/bankql',
          BANK_SUBSCRIPTION_KEY: 'operator',
        });
    expect(read()).toThrow(/^IDENTITY= .*could claim any Auth-ID: set IDENTITY=jwt/);
    expect(read('identity=headers')().areHeadersProven).toBe(true);
    expect(() => render('identity=headers', 'ingress.enabled=true')).toThrow(
      'passes on the names that callers send',
    );
  });

  test('pods may reach the bank, PostgreSQL, the collector of traces and a proxy', () => {
    const ports = ofKind(defaults, 'NetworkPolicy').spec.egress.flatMap(
      (rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port),
    );
    for (const port of [443, 5432, 4318, 3128]) expect(ports).toContain(port);
  });

  test('the job that makes a payment store runs once, with the store and the image of the release', () => {
    const job = ofKind(render('paymentsInit=true'), 'Job');
    const [container] = podOf(job).containers;
    const [serving] = podOf(ofKind(defaults, 'Deployment')).containers;
    expect(container).toMatchObject({ args: ['payments', 'init'], image: serving.image, env: serving.env });
    expect([podOf(job).restartPolicy, job.spec.backoffLimit]).toEqual(['Never', 0]);
  });

  test('the authority of PostgreSQL is a file of the job and of the replicas', () => {
    const objects = render('paymentsInit=true', 'store.tlsSecret=postgres-ca');
    for (const pod of [podOf(ofKind(objects, 'Job')), podOf(ofKind(objects, 'Deployment'))]) {
      expect(pod.volumes).toEqual([{ name: 'store-tls', secret: { secretName: 'postgres-ca' } }]);
      expect(pod.containers[0].volumeMounts).toEqual([
        { name: 'store-tls', mountPath: '/etc/bankql/store', readOnly: true },
      ]);
    }
  });

  test('as Kubernetes documents its objects, with the defaults and with everything', () => {
    expect(typeErrors(render())).toBe('');
    expect(typeErrors(render('paymentsInit=true', ...all))).toBe('');
    const deployment = structuredClone(ofKind(defaults, 'Deployment'));
    podOf(deployment).containers[0].imagePolicy = 'Always';
    expect(typeErrors([deployment])).toMatch(/'"?imagePolicy"?' does not exist in type 'Container'/);
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
      expect(annotations.runbook_url).toMatch(/^https:\/\/docs\.example\/runbook\.html#\w/);
    for (const kind of ['ServiceMonitor', 'PrometheusRule'])
      expect(ofKind(objects, kind).metadata.labels).toMatchObject({ release: 'kube-prometheus-stack' });
    expect(ofKind(objects, 'ServiceMonitor').spec.jobLabel).toBe('app.kubernetes.io/name');
    expect(ofKind(objects, 'Ingress').spec.tls).toEqual([{ hosts: ['bankql.example'], secretName: 'tls' }]);
  });
});
