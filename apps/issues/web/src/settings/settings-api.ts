import type {
  FullUser,
  Integration,
  SessionDetails,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookWithSecret,
} from '@tessera/contracts';
import { root } from '../http/api.ts';
import { nextCursor, request } from '../http/http.ts';

export type OwnSession = SessionDetails & { is_current: boolean };

const sessionsPath = '/app/sessions';

export const listSessions = async (signal: AbortSignal) =>
  (await request<{ sessions: OwnSession[] }>(sessionsPath, { signal })).body.sessions;

export const endSession = (id: string) => request(`${sessionsPath}/${id}`, { method: 'DELETE' });

export const endSessions = () => request(sessionsPath, { method: 'DELETE' });

export const changeName = async (name: string | null) =>
  (await request<FullUser>(`${root}/users/me/`, { method: 'PATCH', body: { name } })).body;

export const changePassword = (current: string, next: string) =>
  request(`${root}/users/me/password/`, {
    method: 'POST',
    body: { current_password: current, new_password: next },
  });

export async function listUsers(search: string, cursor: string | undefined, signal: AbortSignal) {
  const query = { limit: 50, cursor, ...(search !== '' && { search }) };
  const { body, headers } = await request<FullUser[]>(`${root}/users/`, { query, signal });
  return { items: body, next: nextCursor(headers) };
}

export const createUser = async (user: object) =>
  (await request<FullUser>(`${root}/users/`, { method: 'POST', body: user })).body;

export const updateUser = async (id: string, change: Partial<FullUser>) =>
  (await request<FullUser>(`${root}/users/${id}/`, { method: 'PATCH', body: change })).body;

const webhooks = `${root}/webhooks/`;

export const listWebhooks = async (signal: AbortSignal) =>
  (await request<Webhook[]>(webhooks, { signal })).body;

export const createWebhook = async (webhook: object) =>
  (await request<WebhookWithSecret>(webhooks, { method: 'POST', body: webhook })).body;

export const updateWebhook = (id: string, change: object) =>
  request<Webhook>(`${webhooks}${id}/`, { method: 'PATCH', body: change });

export const deleteWebhook = (id: string) => request(`${webhooks}${id}/`, { method: 'DELETE' });

export const rotateSecret = async (id: string) =>
  (await request<WebhookWithSecret>(`${webhooks}${id}/rotate-secret/`, { method: 'POST' })).body;

export const testWebhook = (id: string) => request(`${webhooks}${id}/test/`, { method: 'POST' });

export const listDeliveries = async (id: string, signal: AbortSignal) =>
  (await request<WebhookDelivery[]>(`${webhooks}${id}/deliveries/`, { query: { limit: 20 }, signal })).body;

export const readDelivery = async (id: string, delivery: number, signal: AbortSignal) =>
  (await request<WebhookDeliveryDetails>(`${webhooks}${id}/deliveries/${delivery}/`, { signal })).body;

export const redeliver = (id: string, delivery: number) =>
  request(`${webhooks}${id}/deliveries/${delivery}/redeliver/`, { method: 'POST' });

export const listIntegrations = async (signal: AbortSignal) =>
  (await request<Integration[]>(`${root}/integrations/`, { signal })).body;

export const retrySyncs = async (error: string) => {
  const body = { sync: 'failed', last_error: error };
  return (await request<{ made_due: number }>(`${root}/sync/retry/`, { method: 'POST', body })).body;
};
