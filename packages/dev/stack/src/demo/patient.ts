import { setTimeout as wait } from 'node:timers/promises';
import axios, { type AxiosInstance } from 'axios';

/** The same client; where the service limits it, it waits as long as it is told and sends the request again. */
export function patient(client: AxiosInstance): AxiosInstance {
  client.interceptors.response.use(undefined, async (error: unknown) => {
    if (!axios.isAxiosError(error) || error.response?.status !== 429 || error.config === undefined)
      throw error;
    await wait(Number(error.response.headers['retry-after'] ?? 1) * 1000);
    return client.request(error.config);
  });
  return client;
}
