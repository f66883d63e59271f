import { execFileSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApi } from '../bank/openapi.ts';
import { credentialHeaders } from './bank-schema.ts';

/** GraphQL Mesh: a supergraph made from the bank's OpenAPI document by mesh-compose, served by Hive Gateway. */

const modules = join(import.meta.dirname, '../node_modules');
const headers = credentialHeaders.map((name) => [name, `{context.headers['${name}']}`]);

await writeFile('bank.json', JSON.stringify(openApi(process.env.BANK_URL ?? '')));
await writeFile(
  'mesh.config.mjs',
  `import { loadOpenAPISubgraph } from '@omnigraph/openapi';
const options = { source: './bank.json', endpoint: '${process.env.BANK_URL}', operationHeaders: ${JSON.stringify(Object.fromEntries(headers))} };
export const composeConfig = {
  output: 'supergraph.graphql',
  subgraphs: [{ sourceHandler: loadOpenAPISubgraph('bank', options) }],
};
`,
);
// The configuration imports modules from this folder.
await symlink(modules, 'node_modules');
execFileSync(process.execPath, [join(modules, '@graphql-mesh/compose-cli/esm/bin.js')], { stdio: 'inherit' });
const gateway = join(modules, '@graphql-hive/gateway/dist/bin.js');
const command = [process.execPath, gateway, 'supergraph', '--jit', '--host', '127.0.0.1'];
process.execve?.(process.execPath, command, { ...process.env, LOG_LEVEL: 'warn' });
