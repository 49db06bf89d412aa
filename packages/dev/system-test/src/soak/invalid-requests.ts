import type { AxiosRequestConfig } from 'axios';
import type { Targets } from './targets.ts';

const json = { 'Content-Type': 'application/json' };
let turn = 0;

/** Sends the next of several invalid requests. */
export async function sendInvalidRequest(targets: Targets, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  const requests: [service: 'identity' | 'issues', status: number, request: AxiosRequestConfig][] = [
    ['issues', 401, { url: '/api/v1/issues/', headers: { Authorization: `Bearer ${token}x` } }],
    [
      'issues',
      400,
      { url: '/api/v1/issues/', method: 'POST', data: '{"title":', headers: { ...headers, ...json } },
    ],
    ['issues', 404, { url: '/api/v1/issues/999999999/', headers }],
    ['issues', 422, { url: '/api/v1/issues/?cursor=nonsense', headers }],
    ['issues', 405, { url: '/api/v1/issues/1/', method: 'DELETE', headers }],
    [
      'issues',
      413,
      { url: '/api/v1/issues/', method: 'POST', data: ' '.repeat(300_000), headers: { ...headers, ...json } },
    ],
    ['issues', 431, { url: '/', headers: { 'X-Large': 'a'.repeat(20_000) } }],
    [
      'identity',
      415,
      { url: '/token', method: 'POST', data: 'a=b', headers: { 'Content-Type': 'text/plain' } },
    ],
    [
      'identity',
      401,
      { url: '/token/refresh', method: 'POST', data: '{"refresh_token":"a.b.c"}', headers: json },
    ],
    ['identity', 422, { url: '/token', method: 'POST', data: '{"grant_type":"password"}', headers: json }],
    ['identity', 403, { url: '/internal/identities/1', headers: { 'X-Service-Token': 'guess' } }],
    ['identity', 401, { url: '/userinfo', headers: { Authorization: 'Bearer e30.e30.e30' } }],
  ];
  const next = requests[turn % requests.length];
  turn += 1;
  if (next === undefined) return;
  const [service, status, request] = next;
  // axios must not serialize the body.
  const raw = { ...request, transformRequest: [(data: unknown) => data] };
  await targets.send(service, `invalid request (${status})`, [status], (client) => client.request(raw));
}
