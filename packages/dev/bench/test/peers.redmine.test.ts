import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import axios from 'axios';
import {
  type RedminePeer,
  redmineIssuePath,
  redmineRequests,
  startRedminePeer,
} from '../src/contenders/redmine.ts';
import type { LoadRequest } from '../src/load/load.ts';

const issues = 1500;

describe('Redmine as a peer', () => {
  let peer: RedminePeer;
  beforeAll(async () => {
    peer = await startRedminePeer(issues);
  });
  afterAll(() => peer.stop());

  const send = (request: LoadRequest | undefined) =>
    axios.request({
      baseURL: peer.url,
      method: request?.method ?? 'GET',
      url: request?.path ?? '',
      headers: { ...request?.headers },
      data: request?.body,
      proxy: false,
      validateStatus: () => true,
    });
  const get = (id: number) =>
    axios.get(`${peer.url}${redmineIssuePath(id)}`, {
      headers: { 'X-Redmine-API-Key': peer.apiKey },
      proxy: false,
      validateStatus: () => true,
    });

  it('returns each seeded issue with its author, its assignee and its comments', async () => {
    const [first] = redmineRequests.get(peer);
    expect(first?.path).toBe(redmineIssuePath(peer.firstIssueId));
    for (const id of [peer.firstIssueId, peer.firstIssueId + issues - 1]) {
      const { status, data } = await get(id);
      expect(status).toBe(200);
      expect(data.issue).toMatchObject({
        id,
        project: { id: peer.projectId },
        author: { name: 'Director Test' },
        assigned_to: { name: 'Syncer Test' },
      });
      expect(data.issue.journals.map(({ notes }: { notes: string }) => notes)).toEqual([
        'Comment 0',
        'Comment 1',
        'Comment 2',
      ]);
    }
  });

  it('returns a page of 25 issues with every status', async () => {
    const { data } = await send(redmineRequests.list(peer)[0]);
    expect(data.issues).toHaveLength(25);
    expect(data.total_count).toBeGreaterThanOrEqual(issues);
    const statuses = new Set(data.issues.map(({ status }: { status: { id: number } }) => status.id));
    expect(statuses).toEqual(new Set(peer.statusIds));
  });

  it('creates an issue that can be read', async () => {
    const created = await send(redmineRequests.create(peer)[0]);
    expect(created.status).toBe(201);
    const read = await get(created.data.issue.id);
    expect(read.data.issue.subject).toBe('Created by the benchmark');
  });

  it('returns the processes of its server, and none after it has stopped', async () => {
    const commands = peer.pids().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    expect(commands.some((command) => command.includes('puma'))).toBe(true);
    await peer.stop();
    expect(peer.pids()).toEqual([]);
  });
});
