import type { RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { createLogger, ProblemError, problemBody } from '@tessera/service-kit';
import { z } from 'zod';
import { Fuzzer, fuzzSettings } from '../src/fuzz/index.ts';

const problemStatuses = ['400', '413', '415', '422', '500', '503'];
const document = {
  openapi: '3.1.0',
  info: { title: 'Notes', version: '1' },
  paths: {
    '/notes/{id}': {
      post: {
        operationId: 'putNote',
        parameters: [{ in: 'path', name: 'id', required: true, schema: { type: 'string' } }],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { text: { type: 'string', maxLength: 20 }, pinned: { type: 'boolean' } },
                required: ['text'],
              },
            },
          },
        },
        responses: {
          '200': {
            description: 'Kept.',
            headers: { 'X-Request-Id': { required: true, schema: { type: 'string' } } },
            content: {
              'application/json': {
                schema: { type: 'object', properties: { length: { type: 'integer' } }, required: ['length'] },
              },
            },
          },
          ...Object.fromEntries(
            problemStatuses.map((status) => [
              status,
              {
                description: 'Refused.',
                headers: { 'X-Request-Id': { required: true, schema: { type: 'string' } } },
                content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
              },
            ]),
          ),
        },
      },
    },
  },
  components: {
    schemas: {
      Problem: { type: 'object', required: ['type', 'title', 'status', 'detail', 'code', 'request_id'] },
    },
  },
};

interface Flaws {
  /** The status of the response to a text with a NUL. */
  toNul?: number;
  writesRefused?: boolean;
  length?: unknown;
  bareRefusals?: boolean;
}

function refuse(response: ServerResponse, status: number, bare: boolean): void {
  const problem = new ProblemError({ status, code: 'forbidden', detail: 'No.' });
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  });
  response.end(bare ? '{}' : JSON.stringify(problemBody(problem, 'r1', '/api/problems/')));
}

/** A service with one operation and the given flaws. */
function startNotes({ toNul = 422, writesRefused = false, length = 1, bareRefusals = false }: Flaws) {
  let written = 0;
  const noteSchema = z.object({ text: z.string().max(20), pinned: z.boolean().optional() });
  const listener: RequestListener = async (request, response) => {
    response.setHeader('X-Request-Id', 'r1');
    const text = (await request.toArray()).join('');
    if (request.method !== 'POST') return refuse(response, 404, false);
    const note = noteSchema.safeParse(parseJson(text));
    if (note.success && note.data.text.includes('\u0000')) return refuse(response, toNul, bareRefusals);
    if (note.success || writesRefused) written += 1;
    if (!note.success) return refuse(response, 422, bareRefusals);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ length }));
  };
  return new Fuzzer({
    document,
    listener,
    logger: createLogger({ service: 'notes', level: 'fatal' }),
    credentials: {},
    known: {},
    state: async () => ({ notes: String(written) }),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function fuzz(flaws: Flaws): Promise<string> {
  const fuzzer = startNotes(flaws);
  await fuzzer.start();
  try {
    await fuzzer.run('putNote', { runs: 600, seed: 7 });
    return `passed, untried: ${fuzzer.findUntried()}`;
  } catch (error) {
    return String(error);
  } finally {
    await fuzzer.stop();
  }
}

describe('Fuzzer', () => {
  it('passes a correct service', async () => {
    expect(await fuzz({})).toBe('passed, untried: ');
  });

  it('finds the only value that a service fails on, and prints the seed', async () => {
    const report = await fuzz({ toNul: 500 });
    expect(report).toContain('putNote breaks a rule: FUZZ_SEED=7');
    expect(report).toContain('\\u0000');
    expect(report).toContain('the status is 500');
  });

  it.each<[string, Flaws, string]>([
    ['an undescribed status', { toNul: 418 }, 'putNote does not describe 418'],
    ['an error response that writes', { writesRefused: true }, 'response changed tables'],
    [
      'a response that does not match its schema',
      { length: 'one' },
      'the 200 of putNote does not match its schema',
    ],
    ['an error body of another shape', { bareRefusals: true }, 'is not a valid error body'],
  ])('finds %s', async (_what, flaws, message) => {
    expect(await fuzz(flaws)).toContain(message);
  });
});

describe('fuzzSettings', () => {
  it('reads the number of requests and the seed, with a fixed seed by default', () => {
    expect(fuzzSettings({})).toEqual({ runs: 10, seed: 1 });
    expect(fuzzSettings({ FUZZ_SEED: 'random' })).toEqual({ runs: 10, seed: undefined });
    expect(fuzzSettings({ FUZZ_RUNS: '9', FUZZ_SEED: '-4' })).toEqual({ runs: 9, seed: -4 });
  });
});
