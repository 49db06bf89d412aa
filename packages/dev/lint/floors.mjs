// Checks the direction of imports, also of types, in the source of the services. No folders of a service import each other in a
// circle. In the issues service, folders stand on floors: issue-core < issue-store < features < wiring. No arrow points up, features do
// not import each other but for the exceptions below, and only issue-store has statements that write an issue.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

/** Imports between features of the issues service, with the reason. */
const exceptions = {
  'attachments > idempotency': 'the type of a handler that takes effect once',
  'authentication > identity-mirror': 'the caller of a request is mirrored',
  'comments > idempotency': 'the type of a handler that takes effect once',
  'issue-bulk > idempotency': 'the type of a handler that takes effect once',
  'issue-list > labels': 'the filter by label',
  'issue-list > projects': 'the filter by project',
  'issues > idempotency': 'the type of a handler that takes effect once',
  'labels > idempotency': 'the type of a handler that takes effect once',
  'notifications > events': 'a reader of the events',
  'projects > idempotency': 'the type of a handler that takes effect once',
  'tracker-sync > idempotency': 'the type of a handler that takes effect once',
  'tracker-sync > labels': 'labels of the tracker',
  'tracker-sync > trackers': 'the adapters of the trackers',
  'users > identity-mirror': 'users are identities',
  'views > idempotency': 'the type of a handler that takes effect once',
  'web-session > authentication': 'a session authenticates like a token',
  'web-session > identity-mirror': 'the errors of the identity service',
  'web-session > users': 'the signed-in user',
  'web-session > web-app': 'the pages to which a sign-in returns',
  'webhooks > events': 'a reader of the events',
};

// Files that connect features to each other and to the process.
const wiring =
  /^(app|config|environment-reference|dependencies|migrate|move-attachments|server)\.ts$|\/create-[a-z-]+\.ts$|\.routes\.ts$|\/tracking\.ts$/;
const foundation = new Set(['background', 'database.ts', 'issue-core', 'issue-store']);

function sourcesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'generated' ? [] : sourcesOf(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

/** The imports between the files of an app, relative to its source. */
function importsOf(app) {
  const source = join(root, 'apps', app, 'src');
  return sourcesOf(source).flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const imports = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g);
    return Array.from(imports, ([, target]) => ({
      from: relative(source, path),
      to: relative(source, resolve(dirname(path), target)),
    })).filter(({ to }) => !to.startsWith('..') && !to.startsWith('generated/'));
  });
}

const folderOf = (path) => path.split('/')[0];

/** The groups of folders that import each other in a circle. */
function knotsOf(arrows) {
  const targets = new Map();
  for (const [from, to] of arrows) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const reach = (start) => {
    const seen = new Set();
    const waiting = [start];
    while (waiting.length > 0)
      for (const next of targets.get(waiting.pop()) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        waiting.push(next);
      }
    return seen;
  };
  const reached = new Map([...targets.keys()].map((folder) => [folder, reach(folder)]));
  const knots = new Set();
  for (const [folder, others] of reached)
    if (others.has(folder))
      knots.add(
        [...others]
          .filter((other) => reached.get(other)?.has(folder))
          .sort()
          .join(', '),
      );
  return [...knots];
}

function isAllowed({ from, to }, used) {
  if (wiring.test(from)) return true;
  const [source, target] = [folderOf(from), folderOf(to)];
  if (source === target) return true;
  if (source === 'issue-core' || wiring.test(to)) return false;
  if (source === 'database.ts') return false;
  if (source === 'issue-store') return target === 'issue-core' || target === 'database.ts';
  if (foundation.has(target)) return true;
  const name = `${source} > ${target}`;
  used.add(name);
  return name in exceptions;
}

// Only the door of issue-store writes an issue and its parts. The cleanup deletes expired events.
const writes =
  /\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(?:issues|comments|issue_links|activity|issue_watchers|events)\b/;

const problems = [];
const issuesSource = join(root, 'apps/issues/src');
for (const path of sourcesOf(issuesSource)) {
  const name = relative(issuesSource, path);
  if (/^(issue-store|cleanup|events)\//.test(name) || !writes.test(readFileSync(path, 'utf8'))) continue;
  problems.push(`issues: ${name} writes a table that only issue-store writes`);
}
const used = new Set();
for (const arrow of importsOf('issues'))
  if (!isAllowed(arrow, used)) problems.push(`issues: ${arrow.from} must not import ${arrow.to}`);
for (const name of Object.keys(exceptions))
  if (!used.has(name)) problems.push(`issues: the exception "${name}" is not used`);
for (const app of ['issues', 'identity']) {
  const arrows = importsOf(app)
    .filter(({ from }) => !wiring.test(from))
    .map(({ from, to }) => [folderOf(from), folderOf(to)])
    .filter(([from, to]) => from !== to);
  for (const knot of knotsOf(arrows)) problems.push(`${app}: folders import each other in a circle: ${knot}`);
}
process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
if (problems.length > 0) process.exitCode = 1;
