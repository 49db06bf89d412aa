import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lint } from '@redocly/openapi-core';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { type Api, identityApi, issuesApi } from '../src/index.ts';

interface Part {
  description?: string;
  $ref?: string;
  in?: string;
  name?: string;
  schema?: Part;
  properties?: Record<string, Part>;
  enum?: string[];
  items?: Part;
}

// Spectral is CommonJS.
const { Spectral } = spectralCore;
const { oas } = spectralRulesets;

const apis: [string, Api][] = [
  ['identity', identityApi],
  ['issues', issuesApi],
];
const fileOf = (name: string) => fileURLToPath(new URL(`../openapi/${name}.json`, import.meta.url));
const documentOf = (name: string) => JSON.parse(readFileSync(fileOf(name), 'utf8'));

describe('the descriptions of both documents', () => {
  // Descriptions go by the name of a member, unless one names its schema, too.
  it('are not shared by members with different choices', () => {
    const choices = new Map<string, Set<string>>();
    for (const [name] of apis)
      for (const { properties } of Object.values<Part>(documentOf(name).components.schemas))
        for (const [member, { description, enum: values, items }] of Object.entries(properties ?? {})) {
          const all = values ?? items?.enum;
          const key = `${member}: ${description}`;
          if (all !== undefined) choices.set(key, (choices.get(key) ?? new Set()).add(all.join()));
        }
    expect([...choices].filter(([, { size }]) => size > 1)).toEqual([]);
  });
});

describe.each(apis)('the OpenAPI document of %s', (name, api) => {
  it("has no finding of Redocly's recommended rules", async () => {
    const config = await createConfig({
      extends: ['recommended'],
      rules: {
        // The specification of issues gives its paths a trailing slash.
        'no-path-trailing-slash': 'off',
        // `/users/me/` beside `/users/{id}/`: the concrete path is matched first (OpenAPI 3.1, 4.8.8.2).
        'no-ambiguous-paths': 'off',
        // No licence is given.
        'info-license': 'off',
      },
    });
    const findings = await lint({ ref: fileOf(name), config });
    expect(findings.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  it("has no finding of Spectral's recommended rules", async () => {
    const spectral = new Spectral();
    // The same exceptions as for Redocly.
    spectral.setRuleset({
      extends: [[oas as RulesetDefinition, 'recommended']],
      rules: { 'path-keys-no-trailing-slash': 'off' },
    });
    const findings = await spectral.run(documentOf(name));
    expect(findings.map(({ code, message, path }) => [code, message, path.join('.')])).toEqual([]);
  });

  it.each(api.operations.flatMap(({ id, body }) => (body === undefined ? [] : [[id, body] as const])))(
    'has an example of the body of %s, which the operation accepts',
    (_id, { schema, form, example }) => {
      expect(example).toBeDefined();
      expect(schema.safeParse(example).success).toBe(true);
      if (form !== undefined) expect(form.safeParse(example).success).toBe(true);
    },
  );

  it('describes every schema, member and parameter', () => {
    const undescribed: string[] = [];
    const visit = (part: unknown, path: string): void => {
      if (typeof part !== 'object' || part === null) return;
      const { properties, in: place, name: parameter, schema, description } = part as Part;
      for (const [member, value] of Object.entries(properties ?? {}))
        if (value.description === undefined && value.$ref === undefined)
          undescribed.push(`${path}/${member}`);
      if (
        place !== undefined &&
        parameter !== undefined &&
        (description ?? schema?.description) === undefined
      )
        undescribed.push(`${path}/${parameter}`);
      for (const [key, value] of Object.entries(part)) visit(value, `${path}/${key}`);
    };
    const { components, paths, webhooks } = documentOf(name);
    for (const [id, schema] of Object.entries<Part>(components.schemas))
      if (schema.description === undefined) undescribed.push(id);
    visit(components, 'components');
    visit(paths, 'paths');
    visit(webhooks, 'webhooks');
    expect(undescribed).toEqual([]);
  });

  it('has webhooks only if the service sends some, and no licence without a text', () => {
    const { webhooks, info } = documentOf(name);
    expect([webhooks !== undefined, info.license]).toEqual([name === 'issues', undefined]);
  });

  it('has types for its parameters, and no artefacts of the schema library', () => {
    const text = JSON.stringify(documentOf(name));
    expect(text).not.toContain('"format":"includes"');
    expect(text).not.toMatch(/"pattern":"[^"]{100}/);
    expect(text).not.toContain('9007199254740991');
    expect(text).not.toContain('propertyNames');
    const { paths } = documentOf(name);
    const query = Object.values<
      Record<string, { parameters?: { in: string; name: string; schema: object }[] }>
    >(paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ parameters = [] }) => parameters)
      .filter((parameter) => parameter.in === 'query');
    const typeOf = (parameter: string) =>
      query.find((candidate) => candidate.name === parameter)?.schema ?? null;
    expect(typeOf('limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 200 });
    if (name === 'identity') {
      expect(typeOf('before')).toMatchObject({ type: 'string', format: 'date-time' });
      return;
    }
    expect(typeOf('is_open')).toMatchObject({ type: 'boolean' });
    expect(typeOf('dry_run')).toMatchObject({ type: 'boolean' });
    expect(typeOf('created_after')).toMatchObject({ type: 'string', format: 'date-time' });
    expect(typeOf('status')).toMatchObject({
      type: 'array',
      items: { $ref: '#/components/schemas/IssueStatus' },
    });
    expect(typeOf('ordering')).toMatchObject({
      type: 'array',
      items: { enum: expect.arrayContaining(['priority', '-priority']) },
    });
  });
});
