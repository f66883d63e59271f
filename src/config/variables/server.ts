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
      'how many processes serve, `auto` for one for each core ([how](operations.md#all-cores)); what `MAX_IN_FLIGHT`, `LIMIT_UNREAD_BYTES` and `BANK_CONNECTIONS` allow is shared out among them',
  },
  METRICS_PORT: {
    ...optional(anyPort),
    description: "the port for Prometheus' metrics, on `HOST`; 0 for any, which the start prints",
  },
  METRICS_OPERATION_NAMES: {
    ...oneOf(operationNameModes, 'persisted'),
    description:
      'whose names the label `operation` of the GraphQL metrics shows, 200 at most: those of the operations of `PERSISTED_DOCUMENTS`, of `all`, or of `none`; the rest is `other`',
  },
  CORS_ORIGINS: {
    ...origins,
    description: 'the origins whose pages may call, separated by commas',
  },
  FEDERATION: {
    ...flag(false),
    description:
      'whether it is a subgraph of Apollo Federation 2, with `_service` and `_entities` ([how](federation.md))',
  },
  CORS_HEADERS: {
    ...headerNames,
    description:
      'further request headers that those pages may send, separated by commas, such as `Apollographql-Client-Name`',
  },
  COMPRESSION: {
    ...oneOf(compressions, 'public'),
    description:
      'answers of 1 KB and more in brotli or gzip: `public`, those that hold public data alone; `on`, all ([what that gives away](../SECURITY.md#compression)); `off`, none',
  },
  APQ: {
    ...flag(false),
    description:
      "automatic persisted queries, as Apollo's and urql's links do them: texts that come with their SHA-256 are kept, and asked for by it alone; 10,000 of them, in 16 MB, [less in a small heap](operations.md#memory)",
  },
  MAX_IN_FLIGHT: {
    ...count(memoryBounds.requests),
    shownFallback: '1000, or one for each MB of the heap where that is less',
    description: 'requests that are under way at the same time; what is over is 503',
  },
  MAX_IN_FLIGHT_PER_CALLER: {
    ...count(100),
    description: 'the same for one caller',
  },
  MAX_EVENT_LOOP_LAG_MS: {
    ...milliseconds(500),
    description: 'how late the event loop may be before requests are 503',
  },
  READY_NEEDS_ROOM: {
    ...flag(false),
    description:
      '`/ready` answers 503 while requests are refused because there is too much to do ([when](operations.md#overload))',
  },
  DRAIN_DELAY_MS: {
    ...wholeNumber(0, 0, 600_000),
    description: 'how long `/ready` answers 503 on SIGTERM before the server stops to listen',
  },
  LOG_LEVEL: {
    ...oneOf(logLevels, 'info'),
    description: "pino's levels; payments leave their audit line whatever the level",
  },
  LOG_LEVEL_FILE: {
    ...optional(anyText),
    description:
      'a file with a level that stands in for `LOG_LEVEL`, read at the start and on SIGHUP; where it is absent or empty, `LOG_LEVEL` holds',
  },
  NODE_ENV: {
    ...optional(anyText),
    description: '`production`: the sandbox bank starts only where `SANDBOX` asks for it',
  },
} as const satisfies Record<string, Variable>;
