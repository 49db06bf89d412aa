import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Pair, Person, startPair } from './support/pair.ts';
import { readExpression, readScrape } from './support/promql.ts';

const fileOf = (name: string) =>
  readFileSync(new URL(`../../../../k8s/observability/${name}`, import.meta.url), 'utf8');

const alertsSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().startsWith('Tessera'),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smhd]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.strictObject({ summary: z.string().min(10), action: z.string().min(10) }),
        }),
      ),
    }),
  ),
});
const dashboardSchema = z.looseObject({
  panels: z.array(
    z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).min(1) }),
  ),
});

const alerts = alertsSchema.parse(parse(fileOf('alerts.yaml'))).groups.flatMap(({ rules }) => rules);
const { panels } = dashboardSchema.parse(JSON.parse(fileOf('dashboard.json')));
const expressions: [string, string][] = [
  ...alerts.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
];

describe('alerts and dashboard', () => {
  let pair: Pair;
  let scraped: Map<string, Set<string>>;

  beforeAll(async () => {
    const environment = { METRICS_PORT: '0' };
    const webApp = { WEB_APP: 'on', SESSION_KEYS: randomBytes(32).toString('base64') };
    pair = await startPair({ environment: { identity: environment, issues: { ...environment, ...webApp } } });
    const password = 'a password of the system test';
    await pair.internal.post('/internal/identities', { email: 'ann@example.com', password });
    const ann = await new Person(pair, 'ann@example.com', password).signIn();
    await pair.public.post('/token/refresh', { refresh_token: ann.tokens?.refresh_token });
    await ann.issues.get('/issues/');
    scraped = readScrape((await scrape(pair.identity)) + (await scrape(pair.issues)));
  });
  afterAll(async () => {
    expect(await pair.stop()).toEqual([0, 0]);
  });

  const scrape = async ({ log }: Pair['identity']) => {
    const port = /"metrics_port":(\d+)/.exec(log)?.[1];
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  };

  it.each(expressions)('%s uses only metrics and labels that the services expose', (_name, expression) => {
    const { metrics, labels } = readExpression(expression);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((metric) => !scraped.has(metric))).toEqual([]);
    // The cleanup job runs for the first time after this test.
    const untouched = metrics.every((metric) => scraped.get(metric)?.size === 0);
    const known = new Set(metrics.flatMap((metric) => [...(scraped.get(metric) ?? [])]));
    if (!untouched) expect(labels.filter((label) => !known.has(label))).toEqual([]);
  });

  it("cover all of the services' own metrics", () => {
    const asked = new Set(expressions.flatMap(([, expression]) => readExpression(expression).metrics));
    const own = [...scraped.keys()].filter((name) => /^(http|db|events?|identity|issues)_/.test(name));
    const forgotten = own.filter((name) => !/_(sum|count|bucket)$/.test(name) && !asked.has(name));
    expect(forgotten).toEqual([]);
  });

  it('show every metric of an alert on the dashboard', () => {
    const metricsOf = (expression: string) => readExpression(expression).metrics;
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsOf(expr))));
    const read = alerts.flatMap(({ expr }) => metricsOf(expr));
    expect(read.filter((metric) => !shown.has(metric))).toEqual([]);
  });

  it('reports missing labels, unknown metrics and invalid PromQL', () => {
    expect(readExpression('sum by (pool) (rate(nothing_total{state="x"}[5m]))')).toEqual({
      metrics: ['nothing_total'],
      labels: ['pool', 'state'],
    });
    expect(() => readExpression('sum(rate(x[5m])')).toThrow(SyntaxError);
  });
});
