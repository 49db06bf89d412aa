import { setTimeout as wait } from 'node:timers/promises';
import axios, { type AxiosInstance } from 'axios';

/** Makes a client wait for `Retry-After` and repeat the request when it gets a 429. */
export function retryWhenLimited(client: AxiosInstance): AxiosInstance {
  client.interceptors.response.use(undefined, async (error: unknown) => {
    if (!axios.isAxiosError(error) || error.response?.status !== 429 || error.config === undefined)
      throw error;
    await wait(Number(error.response.headers['retry-after'] ?? 1) * 1000);
    return client.request(error.config);
  });
  return client;
}
