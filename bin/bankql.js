#!/usr/bin/env node
// This file is JavaScript, so that old versions of Node can run it. The sources are TypeScript, which needs Node 24; the
// package has a bundle of JavaScript (bin/bundle-command.ts), which needs Node 22. If this Node is older, bankql runs with the
// Node in its optional dependencies.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const isSource = existsSync(new URL('../src/main.ts', import.meta.url));
const oldest = isSource ? [24, 10] : [22, 19];
const [major, minor] = process.versions.node.split('.').map(Number);
// Odd versions of Node are not for production.
const isFit = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);

/** The Node of bankql's optional dependencies; null if there is none for this machine. */
function bundledNode() {
  const { platform, arch } = process;
  const [name, end] = platform === 'win32' ? ['win', '.exe'] : [platform, ''];
  try {
    return createRequire(import.meta.url).resolve(`node-${name}-${arch}/bin/node${end}`);
  } catch {
    return null;
  }
}

if (isFit) {
  // Node's compile cache saves two fifths of the time of the next start. Its folder is next to the code, because both must be
  // equally trusted. If the folder cannot be written, as in a container, nothing is cached. NODE_COMPILE_CACHE names another
  // folder.
  const kept = fileURLToPath(new URL('../node_modules/.cache/bankql', import.meta.url));
  const isKept = Module.enableCompileCache?.(kept).directory !== undefined;
  // Threads of the SQLite store inherit this variable, and not the effect of the call above.
  if (isKept) process.env.NODE_COMPILE_CACHE ??= kept;
  await import(isSource ? '../src/main.ts' : '../command/main.js');
} else {
  const node = bundledNode();
  if (node === null) {
    process.stderr.write(
      `bankql needs Node ${oldest.join('.')} or newer, and this is Node ${process.versions.node}: install a newer one.\n`,
    );
    process.exit(1);
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal sends its signals to both processes; a signal to this process alone is passed on.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGKILL' ? 137 : 1)));
}
