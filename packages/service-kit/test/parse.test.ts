import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ProblemError, parse } from '../src/index.ts';

const schema = z.strictObject({
  title: z.string().min(3).max(10),
  priority: z.enum(['LOW', 'HIGH']).optional(),
  count: z.int().positive().optional(),
  kind: z.literal('bug').optional(),
  labels: z
    .array(z.object({ name: z.string() }))
    .max(2)
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});

function refusalOf(input: unknown): ProblemError {
  try {
    parse(schema, input);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error('The input was accepted.');
}

describe('parse', () => {
  it('returns the output of the schema', () => {
    expect(parse(z.object({ page: z.string().transform(Number) }), { page: '7' })).toEqual({ page: 7 });
  });

  it('throws a 422 that names every invalid field by its wire name', () => {
    const refusal = refusalOf({ title: 'ab', priority: 'URGENT', labels: [{ name: 1 }] });
    expect(refusal.status).toBe(422);
    expect(refusal.code).toBe('validation_failed');
    expect(refusal.errors).toEqual([
      { field: 'title', message: 'must be at least 3 characters' },
      { field: 'priority', message: 'must be one of LOW, HIGH' },
      { field: 'labels.0.name', message: 'must be of type string' },
    ]);
    expect(refusal.detail).toBe('The request is not valid: title, priority, labels.0.name.');
  });

  it.each([
    [{}, 'title', 'is required'],
    [{ title: null }, 'title', 'must be of type string'],
    [{ title: 'x'.repeat(11) }, 'title', 'must be at most 10 characters'],
    [{ title: 'abc', count: 0 }, 'count', 'must be more than 0'],
    [{ title: 'abc', kind: 'idea' }, 'kind', 'must be bug'],
    [
      { title: 'abc', labels: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
      'labels',
      'must be at most 2 items',
    ],
  ])('describes the problem of %j in the field %s', (input, field, message) => {
    expect(refusalOf(input).errors).toEqual([{ field, message }]);
  });

  it('describes a missing enum member as required', () => {
    expect(() => parse(z.object({ status: z.enum(['OPEN']) }), {})).toThrow(
      expect.objectContaining({ errors: [{ field: 'status', message: 'is required' }] }),
    );
  });

  it.each([[undefined], [null], ['text'], [[]], [7]])('refuses %j as a whole body', (input) => {
    expect(refusalOf(input).errors).toEqual([{ field: 'body', message: expect.any(String) }]);
  });

  it('names every unknown key, also names of inherited members', () => {
    const input = JSON.parse(
      '{"title":"abc","colour":1,"__proto__":{"title":"x"},"constructor":2,"toString":3}',
    );
    expect(refusalOf(input).errors).toEqual(
      ['colour', '__proto__', 'constructor', 'toString'].map((field) => ({
        field,
        message: 'is not a known field',
      })),
    );
  });

  it('ignores a __proto__ member, and does not change any prototype', () => {
    const input = JSON.parse('{"__proto__":{"title":"smuggled"}}');
    expect(parse(z.object({ title: z.string().optional() }), input)).toEqual({});
    expect(({} as { title?: string }).title).toBeUndefined();
  });

  it("removes control characters from the client's keys and limits their length", () => {
    const key = `\u001b[2J\n${'k'.repeat(300)}`;
    const [unknown] = refusalOf({ title: 'abc', [key]: 1 }).errors ?? [];
    const [known] = refusalOf({ title: 'abc', metadata: { [key]: 1 } }).errors ?? [];
    for (const field of [unknown?.field, known?.field]) {
      expect(field).toMatch(/^[\x20-\x7e]{1,100}$/);
    }
  });

  it('reports a thousand unknown keys as a short list', () => {
    const input = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key${index}`, 1]));
    expect(refusalOf({ title: 'abc', ...input }).errors).toHaveLength(50);
  });

  it('never contains a value of the input', () => {
    const refusal = refusalOf({
      title: 'hunter2-hunter2',
      priority: 'hunter2',
      kind: 'hunter2',
      labels: 'hunter2',
    });
    expect(JSON.stringify([refusal.errors, refusal.detail, refusal.message])).not.toContain('hunter2');
  });
});
