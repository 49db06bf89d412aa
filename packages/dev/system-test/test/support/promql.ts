import { parser } from '@prometheus-io/lezer-promql';

/** The metrics of an expression, and the labels that it filters and groups by. @throws for invalid PromQL */
export function readExpression(expression: string): { metrics: string[]; labels: string[] } {
  const metrics: string[] = [];
  const labels: string[] = [];
  // Prometheus expects a duration instead of Grafana's variable.
  const text = expression.replaceAll('$__rate_interval', '5m');
  parser.parse(text).iterate({
    enter: ({ name, from, to, node, type }) => {
      const word = text.slice(from, to);
      if (type.isError) throw new SyntaxError(`Invalid PromQL at ${from}: ${text}`);
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(word);
      if (name === 'LabelName') labels.push(word);
    },
  });
  return { metrics, labels };
}

/** The labels of each metric in a scrape, by name; a histogram is listed under its three names. */
export function readScrape(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) (?!histogram)/gm)) found.set(name, new Set());
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) histogram$/gm))
    for (const part of ['bucket', 'count', 'sum']) found.set(`${name}_${part}`, new Set());
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z]\w*)\{(.*)\} \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) found.get(name)?.add(label);
  return found;
}
