import cluster from 'node:cluster';
import { readConfig } from '../config/config.ts';
import type { CliContext } from './cli-context.ts';
import type { Service } from './service.ts';

/** `bankql`: serves from this process, or from several (WORKERS). Errors: StartError, and what `listen` fails with. */
export async function startServing(context: CliContext): Promise<Service> {
  if (cluster.isWorker) return (await import('./workers/worker.ts')).serveAsWorker(context);
  const config = readConfig(context.environment);
  if (config.workers > 1) return (await import('./workers/primary.ts')).serveFromWorkers(context, config);
  return (await import('./serve.ts')).serveBankql(context);
}
