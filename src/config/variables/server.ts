import { compressions } from '../../server/response.ts';
import { logLevels } from '../../telemetry/log.ts';
import { operationNameModes } from '../../telemetry/operation-label.ts';
import {
  anyPort,
  anyText,
  count,
  flag,
  headerNames,
  milliseconds,
  oneOf,
  optional,
  origins,
  port,
  share,
  text,
  wholeNumber,
  workerCount,
} from '../formats.ts';
import { memoryBounds } from '../memory-bounds.ts';
import type { Variable } from '../variable.ts';

/** Where it listens, what it logs, how much it takes on. */
export const serverVariables = {
  HOST: { ...text('127.0.0.1'), description: 'the address to listen on' },
  PORT: { ...port(4000), description: 'the port to listen on; 0 for any' },
  WORKERS: {
    ...workerCount,
    description:
      'the number of processes that serve, `auto` for one per core ([how](operations.md#all-cores)); they share `MAX_IN_FLIGHT`, `LIMIT_UNREAD_BYTES` and `BANK_CONNECTIONS`',
  },
  METRICS_PORT: {
    ...optional(anyPort),
    description: "the port for Prometheus' metrics; 0 for any, which the start prints",
  },
  METRICS_HOST: {
    rarely: 'Prometheus reaches bankql over another network than clients do',
    ...optional(anyText, '`HOST`'),
    description: 'the address on which the metrics are served',
  },
  METRICS_OPERATION_NAMES: {
    rarely: 'you want names of operations without a manifest, or none',
    ...oneOf(operationNameModes, 'persisted'),
    description:
      'whose names the label `operation` of the GraphQL metrics shows, 200 at most: those of the operations of `PERSISTED_DOCUMENTS`, of `all`, or of `none`; the rest is `other`',
  },
  CORS_ORIGINS: {
    ...origins,
    description: 'the origins that browsers may call from, separated by commas',
  },
  FEDERATION: {
    rarely: 'bankql is a subgraph',
    ...flag(false),
    description:
      'whether it is a subgraph of Apollo Federation 2, with `_service` and `_entities` ([how](federation.md))',
  },
  CORS_HEADERS: {
    rarely: 'web apps send headers of their own',
    ...headerNames,
    description:
      'further request headers that browsers may send, separated by commas, such as `Apollographql-Client-Name`',
  },
  COMPRESSION: {
    rarely: 'nothing in front of bankql compresses private answers',
    ...oneOf(compressions, 'public'),
    description:
      'answers of 1 KB and more in brotli or gzip: `public`, those that hold public data alone; `on`, all ([what that gives away](../SECURITY.md#compression)); `off`, none',
  },
  APQ: {
    rarely: 'clients use automatic persisted queries',
    ...flag(false),
    description:
      "automatic persisted queries, as Apollo's and urql's links do them: texts that come with their SHA-256 are kept, and asked for by it alone; 10,000 of them, in 16 MB, [less in a small heap](operations.md#memory)",
  },
  MAX_IN_FLIGHT: {
    rarely: 'the heap is sized by hand',
    ...count(memoryBounds.requests),
    shownFallback: '1000, or one for each MB of the heap where that is less',
    description: 'the maximum number of concurrent requests; others are answered with 503',
  },
  MAX_IN_FLIGHT_PER_CALLER: {
    rarely: 'a caller is a backend with many users',
    ...count(100),
    description: 'the maximum number of concurrent requests of one caller',
  },
  MAX_EVENT_LOOP_LAG_MS: {
    rarely: 'the machine is shared and pauses are normal',
    ...milliseconds(500),
    description: 'the delay of the event loop above which requests are answered with 503',
  },
  READY_NEEDS_ROOM: {
    rarely: 'a load balancer should avoid a busy replica while others have room',
    ...flag(false),
    description: '`/ready` answers 503 while bankql is overloaded ([when](operations.md#overload))',
  },
  DRAIN_DELAY_MS: {
    ...wholeNumber(0, 0, 600_000),
    description: 'how long `/ready` answers 503 after SIGTERM before the server stops listening',
  },
  LOG_LEVEL: {
    ...oneOf(logLevels, 'info'),
    description:
      'the log level (`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`); audit lines of payments are always written',
  },
  LOG_SAMPLE: {
    rarely: 'the log of successful operations is too long',
    ...share(1),
    description:
      'the share of successful, fast operations that are logged; errors, slow operations and payments always are',
  },
  LOG_TIME: {
    rarely: 'the log collector wants ISO 8601',
    ...oneOf(['epoch', 'iso'] as const, 'epoch'),
    description: "the form of a line's `time`: milliseconds since 1970, or ISO 8601",
  },
  LOG_LEVEL_FILE: {
    rarely: 'you change the level while it runs',
    ...optional(anyText),
    description: 'a file with a level that overrides `LOG_LEVEL`, read at the start and on SIGHUP',
  },
  NODE_ENV: {
    rarely: 'the image and the unit set it',
    ...optional(anyText),
    description: '`production`: the sandbox bank starts only with `SANDBOX=on`',
  },
} as const satisfies Record<string, Variable>;
