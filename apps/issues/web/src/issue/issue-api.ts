import type { Issue, Link, SyncReport } from '@tessera/contracts';
import { pathOf } from '../http/api.ts';
import { request } from '../http/http.ts';

export const readWatching = async (key: string, signal: AbortSignal) =>
  (await request<{ is_watching: boolean }>(pathOf(key, 'watch/'), { signal })).body;

export const setWatching = (key: string, isWatching: boolean) =>
  request(pathOf(key, 'watch/'), { method: isWatching ? 'PUT' : 'DELETE' });

export const putLink = (key: string, link: object) =>
  request<Link>(pathOf(key, 'links/'), { method: 'POST', body: link });

export const deleteLink = (key: string, id: string) =>
  request(pathOf(key, `links/${id}/`), { method: 'DELETE' });

export const readSync = async (key: string, signal: AbortSignal) =>
  (await request<SyncReport>(pathOf(key, 'sync/'), { signal })).body;

export const syncIssue = (key: string) => request<Issue>(pathOf(key, 'sync/'), { method: 'POST' });

export const resolveConflict = (key: string, id: string, keep: 'local' | 'remote') =>
  request<Issue>(pathOf(key, `sync/conflicts/${id}/`), { method: 'POST', body: { keep } });

export const attachExternal = (key: string, id: string) =>
  request<Issue>(pathOf(key, 'external/'), { method: 'PUT', body: { id } });

export const detachExternal = (key: string) => request<Issue>(pathOf(key, 'external/'), { method: 'DELETE' });
