// A fake of a built service. It records its environment and events in files beside itself.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const { PORT, DATABASE_URL, FAKE_SERVER } = process.env;
const seen = new URL('./seen.jsonl', import.meta.url);
const tell = (event, more) =>
  appendFileSync(seen, `${JSON.stringify({ event, pid: process.pid, ...more })}\n`);

writeFileSync(new URL('./environment.json', import.meta.url), JSON.stringify(process.env));
if (FAKE_SERVER === 'broken') {
  process.stderr.write('SERVICE_TOKEN: is required\n');
  process.exit(78);
}

const server = createServer((request, response) => {
  if (request.url === '/crash') {
    process.stderr.write('out of cheese\n');
    process.exit(3);
  }
  response.writeHead(request.url === '/readyz' ? 200 : 404).end();
});
server.listen(Number(PORT), '127.0.0.1', () => tell('listening'));

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    const { port } = new URL(DATABASE_URL);
    const probe = connect(Number(port), '127.0.0.1');
    const end = (databaseUp) => {
      tell(signal, { databaseUp });
      if (FAKE_SERVER !== 'stubborn') process.exit(0);
    };
    probe.once('connect', () => end(true));
    probe.once('error', () => end(false));
  });
}
