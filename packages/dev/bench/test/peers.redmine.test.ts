import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import axios, { type AxiosInstance } from 'axios';
import {
  type RedminePeer,
  redmineCreatePath,
  redmineGetPath,
  redmineIssue,
  redmineListPath,
  startRedminePeer,
} from '../src/peers/redmine.ts';

const issues = 1500;

describe('Redmine as a peer', () => {
  let peer: RedminePeer;
  let http: AxiosInstance;
  beforeAll(async () => {
    peer = await startRedminePeer({ issues });
    http = axios.create({
      baseURL: peer.url,
      headers: { 'X-Redmine-API-Key': peer.apiKey },
      proxy: false,
      validateStatus: () => true,
    });
  });
  afterAll(() => peer.stop());

  it('returns each seeded issue with its author, its assignee and its comments', async () => {
    for (const issueId of [peer.issueId, peer.issueId + issues - 1]) {
      const { status, data } = await http.get(redmineGetPath({ issueId }));
      expect(status).toBe(200);
      expect(data.issue).toMatchObject({
        id: issueId,
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
    const { data } = await http.get(redmineListPath);
    expect(data.issues).toHaveLength(25);
    expect(data.total_count).toBeGreaterThanOrEqual(issues);
    const statuses = new Set(data.issues.map(({ status }: { status: { id: number } }) => status.id));
    expect(statuses).toEqual(new Set(peer.statusIds));
  });

  it('creates an issue that can be read', async () => {
    const created = await http.post(redmineCreatePath, redmineIssue(peer));
    expect(created.status).toBe(201);
    const read = await http.get(redmineGetPath({ issueId: created.data.issue.id }));
    expect(read.data.issue.subject).toBe('Created by the benchmark');
  });

  it('returns the processes of its server, and none after it has stopped', async () => {
    const commands = peer.pids().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    expect(commands.some((command) => command.includes('puma'))).toBe(true);
    await peer.stop();
    expect(peer.pids()).toEqual([]);
  });
});
