import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .concat('/usr/sbin', '/usr/local/sbin')
  .map((folder) => join(folder, 'nginx'))
  .find((path) => existsSync(path));

/** Whether nginx is installed here. */
export const hasNginx = program !== undefined;

export const replicas = ['bankql-1', 'bankql-2'] as const;
export type Replica = (typeof replicas)[number];

/**
 * nginx with the file of ops/compose; only addresses and paths are replaced. `caller`: the variables of nginx that name the
 * verified caller; by default empty, as in the file.
 */
export function startNginx(
  folder: string,
  port: number,
  ports: Readonly<Record<Replica, number>>,
  caller: { readonly provider: string; readonly id: string } = { provider: '', id: '' },
): ChildProcess {
  let server = readFileSync(join(import.meta.dirname, '../../ops/compose/nginx.conf'), 'utf8')
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('set $caller_provider "";', () => `set $caller_provider "${caller.provider}";`)
    .replace('set $caller_id "";', () => `set $caller_id "${caller.id}";`)
    .replaceAll('/etc/nginx/drain/', `${join(folder, 'drain')}/`);
  for (const replica of replicas)
    server = server.replaceAll(`server ${replica}:4000`, `server 127.0.0.1:${ports[replica]}`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${join(folder, 'nginx.pid')}; error_log stderr crit;
events { worker_connections 4096; }
http { access_log off; ${paths.join(' ')}
${server}
}\n`,
  );
  return spawn(program ?? 'nginx', ['-c', file, '-p', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
}
