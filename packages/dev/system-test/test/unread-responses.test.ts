import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { first, patientLimits, type Service, type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import type { AxiosInstance } from 'axios';
import { issuesClient, signUp } from './support/clients.ts';
import { pause } from './support/load.ts';

const clients = 50;
const containerMiB = 512;
const drainTimeoutMs = 5_000;
/** The p99 of the other users without stalled clients, on two idle cores, in milliseconds. */
const usualP99 = 40;

/** A client that sends requests and never reads. */
class StalledClient {
  readonly #socket: Socket;

  constructor(port: number, requests: string) {
    this.#socket = connect({ host: '127.0.0.1', port }, () => this.#socket.write(requests));
    this.#socket.pause();
    this.#socket.on('error', () => undefined);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** Samples a process's resident memory until it is stopped. */
function sampleMemory({ pid }: Service) {
  let peak = 0;
  const timer = setInterval(() => {
    const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
    peak = Math.max(peak, rss);
  }, 20);
  return () => {
    clearInterval(timer);
    return Math.round(peak);
  };
}

function percentile99(waits: number[]): number {
  const sorted = waits.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
}

describe('clients that cost much memory', () => {
  let stack: Stack;
  let service: Service;
  /**
   * Access tokens of the stalled clients: one per two clients, so that none waits for another client of the same
   * identity.
   */
  const readers: string[] = [];
  let issues: AxiosInstance;
  const stalled: StalledClient[] = [];
  let large: string;

  beforeAll(async () => {
    stack = await startStack({
      // Node's own choice in a container of 512 MiB.
      nodeArguments: ['--max-old-space-size=256'],
      environment: {
        issues: {
          HTTP_DRAIN_TIMEOUT_MS: String(drainTimeoutMs),
          LOG_LEVEL: 'info',
          // The stalled clients delay others, but cause no refusal.
          ...patientLimits,
        },
      },
    });
    service = first(stack.issues);
    for (let index = 0; index < clients / 2; index += 1)
      readers.push((await signUp(stack, `mallory-${index}`)).access_token);
    issues = issuesClient(stack, await signUp(stack, 'ann'));
    await issues.post('/issues/', { title: 'the first' });
    await fill();
  });
  afterAll(async () => {
    for (const client of stalled) client.destroy();
    expect(await stack.stop()).toEqual([0, 0]);
  });

  // Issues whose texts are the largest that the API accepts, each with 200 comments of 260 KB.
  async function fill(): Promise<void> {
    const { rows } = await stack.sql(
      'issues',
      `WITH i AS (
         INSERT INTO issues (id, title, description, priority, reporter_id, comments_count)
         SELECT gen_random_uuid(), n || repeat('🖨', 250), repeat('🖨', 65000), 'LOW', reporter_id, 200
           FROM issues, generate_series(1, 200) n
         RETURNING id, reporter_id
       ), links AS (
         INSERT INTO issue_links (id, issue_id, type, ref, title, url, metadata, created_by)
         SELECT gen_random_uuid(), i.id, 'invoice', n || repeat('€', 250), repeat('€', 255),
                'https://example.com/' || repeat('a', 2028), jsonb_build_object('a', repeat('€', 1350)), i.reporter_id
           FROM i, generate_series(1, 50) n
       ), comments AS (
         INSERT INTO comments (id, issue_id, body, author_id)
         SELECT gen_random_uuid(), i.id, repeat('🖨', 65000), i.reporter_id
           FROM (SELECT * FROM i LIMIT 10) i, generate_series(1, 50) n
         RETURNING issue_id
       )
       SELECT issue_id AS id FROM comments LIMIT 1`,
    );
    large = `/api/v1/issues/${rows[0].id}/`;
  }

  const get = (path: string, token: string) =>
    `GET ${path} HTTP/1.1\r\nHost: issues\r\nAuthorization: Bearer ${token}\r\n\r\n`;

  // Counts disconnects in the log, because a client that does not read does not notice them.
  const countInLog = (text: string) => service.log.split(text).length - 1;

  /** Four users who write and read; `stop` returns how long each request took. */
  function startOthers() {
    const waits: number[] = [];
    let isRunning = true;
    const users = Array.from({ length: 4 }, async (_, index) => {
      for (let turn = 0; isRunning; turn += 1) {
        const startedAt = performance.now();
        const { status } =
          (index + turn) % 2 === 0
            ? await issues.post('/issues/', { title: `other ${index} ${turn}` })
            : await issues.get('/users/me/');
        waits.push(performance.now() - startedAt);
        expect([200, 201]).toContain(status);
        await pause();
      }
    });
    const stop = async () => {
      isRunning = false;
      await Promise.all(users);
      return waits;
    };
    return { stop, waits };
  }

  it.each([
    // The socket buffers of the operating system hold the whole response.
    {
      what: 'one response each',
      requests: (token: string) => get(large, token),
      sign: '"route":"/api/v1/issues/:id/"',
    },
    {
      what: 'pipelined requests',
      requests: (token: string) => (get(large, token) + get('/api/v1/issues/?limit=200', token)).repeat(50),
      sign: 'the client does not read: connection closed',
    },
  ])(
    `cost bounded memory and delay no other user: ${clients} clients that do not read, $what`,
    async ({ requests, sign }) => {
      // The limits are relative to the time without stalled clients, before and after, because the machine may be slow.
      const measureSlowness = async () => {
        const idle = startOthers();
        await eventually(() => idle.waits.length >= 80);
        return Math.max(1, percentile99(await idle.stop()) / usualP99);
      };
      const slownessBefore = await measureSlowness();
      const stopSampling = sampleMemory(service);
      const readiness = new Set<number>();
      let unreadyFor = 0;
      let isStalling = true;
      const others = startOthers();
      const probe = (async () => {
        let readyAt = performance.now();
        while (isStalling) {
          const { status } = await issues.get(`${service.url}/readyz`);
          if (status !== 200) unreadyFor = Math.max(unreadyFor, performance.now() - readyAt);
          else readyAt = performance.now();
          readiness.add(status);
          await pause();
        }
      })();
      const before = countInLog(sign);
      const all = [...readers, ...readers];
      stalled.push(...all.map((token) => new StalledClient(service.port, requests(token))));
      const hasEnded = () => countInLog(sign) - before >= clients;
      let peak = 0;
      await eventually(hasEnded).finally(() => {
        isStalling = false;
        peak = stopSampling();
      });
      const waits = await others.stop();
      await probe;
      expect(peak).toBeLessThan(containerMiB);
      const slowness = Math.max(slownessBefore, await measureSlowness());
      expect(percentile99(waits) / slowness).toBeLessThan(1_000);
      expect([200, 503]).toEqual(expect.arrayContaining([...readiness]));
      // A failed check takes or lasts a second or more, so none may fail on a machine that is not slow.
      expect(unreadyFor / slowness).toBeLessThan(1_000);
    },
    300_000,
  );

  it(`cost bounded memory: ${clients / 2} bodies of 330,000 values, which are accepted`, async () => {
    const body = JSON.stringify({
      title: 'many values',
      ignored: Array.from({ length: 330_000 }, () => ({})),
    });
    const stopSampling = sampleMemory(service);
    const statuses = await Promise.all(
      readers.map(async (token) => {
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
        const url = `${service.url}/api/v1/issues/`;
        return (await fetch(url, { method: 'POST', headers, body })).status;
      }),
    );
    const peak = stopSampling();
    expect([...new Set(statuses)]).toEqual([201]);
    expect(peak).toBeLessThan(containerMiB);
  });
});
