#!/usr/bin/env node
// Written so that an old Node can read it: the sources are TypeScript, which needs Node 24; the package has JavaScript,
// which needs Node 22. Where this Node is older, the one that is installed beside bankql takes its place.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const isSource = existsSync(new URL('../src/main.ts', import.meta.url));
const oldest = isSource ? [24, 10] : [22, 19];
const [major, minor] = process.versions.node.split('.').map(Number);
// Of Node, the odd versions are no releases for production.
const isFit = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);

/** The Node of bankql's optional dependencies; null where none is for this machine. */
function bundledNode() {
  const { platform, arch } = process;
  const name = platform === 'win32' ? 'win' : platform;
  for (const id of [`node-${name}-${arch}`, `node-bin-${name}-${arch}`]) {
    try {
      return createRequire(import.meta.url).resolve(`${id}/bin/node${platform === 'win32' ? '.exe' : ''}`);
    } catch {
      // The next one, if any.
    }
  }
  return null;
}

if (isFit) {
  // What V8 has compiled is kept beside the code, which is as trusted; it spares the next start two fifths of its time.
  // Where the folder cannot be written, as in a container, nothing is kept. NODE_COMPILE_CACHE names another folder.
  const kept = fileURLToPath(new URL('../node_modules/.cache/bankql', import.meta.url));
  const isKept = Module.enableCompileCache?.(kept).directory !== undefined;
  // For the threads of a SQLite store: what this process asked for is not theirs.
  if (isKept) process.env.NODE_COMPILE_CACHE ??= kept;
  await import(isSource ? '../src/main.ts' : '../dist/main.js');
} else {
  const node = bundledNode();
  if (node === null) {
    process.stderr.write(
      `bankql needs Node ${oldest.join('.')} or newer, and this is Node ${process.versions.node}: install a newer one.\n`,
    );
    process.exit(1);
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal sends its signals to both; what is sent to this process alone has to reach the one that works.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGKILL' ? 137 : 1)));
}
