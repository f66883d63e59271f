// Written so that an old Node can read it: src/ needs one that runs TypeScript.
const major = Number(process.versions.node.split('.')[0]);
if (major !== 24) {
  process.stderr.write(
    `bankql needs Node 24, and this is Node ${process.versions.node}. \`npm ci\` brings Node 24 along for Linux and Windows: use \`npm start\`; elsewhere install Node 24.\n`,
  );
  process.exit(1);
}
await import('../src/main.ts');
