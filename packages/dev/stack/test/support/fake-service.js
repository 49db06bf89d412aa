// A fake of a built service. It records its environment and events in files beside itself.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';

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
  if (request.url.startsWith('/internal/identities')) {
    answerIdentities(request, response);
    return;
  }
  response.writeHead(request.url === '/readyz' ? 200 : 404).end();
});
// As in identity: lists the identities, or creates one. They are kept in a file.
async function answerIdentities(request, response) {
  const file = new URL('./identities.json', import.meta.url);
  const identities = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const isAllowed = request.headers['x-service-token'] === process.env.SERVICE_TOKEN;
  const answer = (status, body) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  if (!isAllowed) {
    answer(403, { code: 'service_token_invalid', status: 403, detail: 'Wrong service token.' });
  } else if (request.method === 'GET') {
    answer(200, identities);
  } else {
    const { password, ...identity } = await json(request);
    identities.push({ ...identity, is_active: true });
    writeFileSync(file, JSON.stringify(identities));
    answer(201, identity);
  }
}

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
