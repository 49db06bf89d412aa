import { createServer } from 'node:net';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';

// Both address families: a program on [::1] would receive the requests to "localhost" instead of the service.
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/**
 * @param variable the environment variable that sets the port, for the message, which proposes one that is free
 * @throws StackError when the port is not available
 */
export async function assertPortFree(port: number, variable: string, service: string): Promise<void> {
  const problem = await portProblem(port);
  if (problem === undefined) return;
  let other = port + 10;
  while (other + 10 < 65_536 && (await portProblem(other)) !== undefined) other += 10;
  const why = problem === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${problem})`;
  throw new StackError(`Port ${port}, wanted for ${service}, ${why}. Set another port: ${variable}=${other}`);
}

async function portProblem(port: number): Promise<string | undefined> {
  for (const host of LOOPBACK_ADDRESSES) {
    const code = await tryListen(port, host);
    if (code !== undefined && code !== 'EADDRNOTAVAIL' && code !== 'EAFNOSUPPORT') return code;
  }
  return undefined;
}

function tryListen(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(errorCode(error) ?? error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
