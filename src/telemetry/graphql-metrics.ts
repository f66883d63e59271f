import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DocumentCacheStats } from '../engine/documents.ts';
import { errorCodes, type Fault, isErrorCode } from '../errors.ts';
import type { OperationActivity } from '../server/request-scope.ts';
import { createOperationLabel, type OperationNameMode } from './operation-label.ts';

/** What is counted of requests for GraphQL. */
export interface GraphQLMetrics {
  observe(activity: OperationActivity): void;
}

export interface GraphQLMetricsOptions {
  readonly registry: Registry;
  readonly operationNames: OperationNameMode;
  readonly documents: DocumentCacheStats;
  /** How many requests are under way. */
  readonly inFlight: () => number;
}

export function createGraphQLMetrics(options: GraphQLMetricsOptions): GraphQLMetrics {
  const { documents, inFlight } = options;
  const registers = [options.registry];
  const labelOf = createOperationLabel(options.operationNames);
  const requests = new Counter({
    name: 'bankql_graphql_requests_total',
    help: 'Requests for GraphQL by how they ended, and by who is at fault for their errors: client, bank, bankql, load, or none.',
    labelNames: ['operation', 'kind', 'outcome', 'fault'],
    registers,
  });
  const duration = new Histogram({
    name: 'bankql_graphql_duration_seconds',
    help: 'From the head of a request for GraphQL to its answer.',
    labelNames: ['operation'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const errors = new Counter({
    name: 'bankql_graphql_errors_total',
    help: 'Errors in answers by their code; one answer may hold several.',
    labelNames: ['code'],
    registers,
  });
  for (const code of Object.keys(errorCodes)) errors.inc({ code }, 0);
  new Gauge({
    name: 'bankql_graphql_in_flight',
    help: 'Requests that are under way.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  new Counter({
    name: 'bankql_document_cache_total',
    help: 'Documents that were asked for: kept ones (hit), and those that had to be parsed and checked (miss).',
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      this.inc({ result: 'hit' }, documents.hits);
      this.inc({ result: 'miss' }, documents.misses);
    },
  });
  new Gauge({
    name: 'bankql_document_cache_documents',
    help: 'Documents that are kept until others take their room.',
    registers,
    collect() {
      this.set(documents.kept);
    },
  });
  new Gauge({
    name: 'bankql_document_cache_bytes',
    help: 'What those take in memory, about.',
    registers,
    collect() {
      this.set(documents.bytes);
    },
  });

  return {
    observe({ operation, outcome, codes, milliseconds }) {
      const label = labelOf(operation);
      const kind = operation?.kind ?? 'unknown';
      requests.inc({ operation: label, kind, outcome, fault: faultOf(codes) });
      duration.observe({ operation: label }, milliseconds / 1000);
      for (const code of codes) errors.inc({ code });
    },
  };
}

/** The first of these that one of the errors has: a request that both a client and the bank spoiled is the bank's. */
const faults = ['bankql', 'bank', 'load', 'client'] as const satisfies readonly Fault[];

const faultOf = (codes: readonly string[]): Fault | 'none' => {
  if (codes.length === 0) return 'none';
  const found = new Set(codes.map((code) => (isErrorCode(code) ? errorCodes[code].fault : 'bankql')));
  return faults.find((fault) => found.has(fault)) ?? 'none';
};
