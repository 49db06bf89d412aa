import axios, { type AxiosInstance, type AxiosRequestConfig } from 'axios';

/** An axios instance that resolves for every status. */
export function httpClient(baseURL: string, config: AxiosRequestConfig = {}): AxiosInstance {
  return axios.create({ baseURL, validateStatus: () => true, proxy: false, maxRedirects: 0, ...config });
}
