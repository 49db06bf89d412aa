// Loaded before tsx and everything else (`--require`), so it runs on every Node and before anything is installed.
const manifest = require('../../../package.json');

const wanted = manifest.engines.node.replace('>=', '');
const actual = process.versions.node;
const [major, minor] = actual.split('.').map(Number);
const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  process.stderr.write(`Tessera needs Node ${wanted} or later; this is ${actual}\n`);
  process.exit(1);
}
