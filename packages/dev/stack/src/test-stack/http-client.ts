import axios, { type AxiosInstance, type AxiosRequestConfig } from 'axios';

/** A client that leaves judging an answer to its caller, whatever the status. */
export function httpClient(baseURL: string, config: AxiosRequestConfig = {}): AxiosInstance {
  return axios.create({ baseURL, validateStatus: () => true, proxy: false, maxRedirects: 0, ...config });
}
