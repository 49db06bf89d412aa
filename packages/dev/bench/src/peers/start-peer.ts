import { type ServerProcess, startServerProcess } from '../run/server-process.ts';
import {
  type BetterAuthOptions,
  type BetterAuthReady,
  betterAuthReadySchema,
  type OidcOptions,
  type OidcReady,
  oidcReadySchema,
} from './peer-messages.ts';

export function startOidcProvider(options: OidcOptions): Promise<ServerProcess<OidcReady>> {
  const entry = new URL('./oidc-provider.server.ts', import.meta.url);
  return startServerProcess(entry, options, oidcReadySchema);
}

export function startBetterAuth(options: BetterAuthOptions): Promise<ServerProcess<BetterAuthReady>> {
  const entry = new URL('./better-auth.server.ts', import.meta.url);
  return startServerProcess(entry, options, betterAuthReadySchema);
}
