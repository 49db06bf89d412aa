import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { code, codes, table } from './table.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const sources = {
  'both services': 'packages/service-kit/src',
  identity: 'apps/identity/src',
  issues: 'apps/issues/src',
};

const registration =
  /(?:metrics|this)\.(counter|gauge|histogram)\(\s*('[^']*'|\w+),\s*('[^']*'|"[^"]*"|\w+),?(?:\s*\[([^\]]*)\])?/g;

/** docs/reference/metrics.md: the calls in the sources that register a metric. */
export function metricsPage(): string {
  return [
    '# Metrics',
    `With [\`METRICS_PORT\`](environment.md), \`GET /metrics\` has these metrics for Prometheus, each with the label \`service\`, beside those of the
process by prom-client. [Alerts](../../k8s/observability/alerts.yaml) use them.`,
    ...Object.entries(sources).flatMap(([title, folder]) => [
      `## ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
      table(['metric', 'type', 'labels', 'meaning'], metricsUnder(folder)),
    ]),
  ].join('\n\n');
}

function metricsUnder(folder: string): string[][] {
  const files = readdirSync(join(root, folder), { recursive: true }).map(String);
  return files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('generated'))
    .flatMap((file) => metricsOf(`${folder}/${file}`, readFileSync(join(root, folder, file), 'utf8')))
    .sort(([first = ''], [second = '']) => (first < second ? -1 : 1));
}

/** The metrics that a source registers. A registration that this does not understand is an error. */
export function metricsOf(file: string, source: string): string[][] {
  const found = [...source.matchAll(registration)];
  const calls = source.match(/(?:metrics|this)\.(counter|gauge|histogram)\(/g) ?? [];
  if (found.length !== calls.length) throw new Error(`${file} registers a metric in an unknown way.`);
  return found.map(({ 1: type = '', 2: name = '', 3: help = '', 4: labels = '', index }) => {
    const text = (argument: string) => {
      const constants = source
        .slice(0, index)
        .matchAll(new RegExp(`const ${argument} =\\s*('[^']*'|"[^"]*");`, 'g'));
      const literal = /^['"]/.test(argument) ? argument : [...constants].at(-1)?.[1];
      if (literal === undefined) throw new Error(`${file} has no text ${argument} for its metric.`);
      return literal.slice(1, -1);
    };
    return [
      code(text(name)),
      type,
      codes([...labels.matchAll(/'(\w+)'/g)].map(([, one = '']) => one)),
      text(help),
    ];
  });
}
