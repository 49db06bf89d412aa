import { createServer } from 'node:net';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';

// Both address families: a program on [::1] would receive the requests to "localhost" instead of the service.
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/**
 * @param variable the environment variable that sets the port, for the message
 * @throws StackError when the port is not available
 */
export async function assertPortFree(port: number, variable: string, service: string): Promise<void> {
  for (const host of LOOPBACK_ADDRESSES) {
    const code = await tryListen(port, host);
    if (code === undefined || code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') continue;
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${code})`;
    throw new StackError(
      `Port ${port}, wanted for ${service}, ${why}. Set another port: ${variable}=${port + 10}`,
    );
  }
}

function tryListen(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(errorCode(error) ?? error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
