import type { AdapterFactory } from 'oidc-provider';

/** An account that oidc-provider answers `/userinfo` of. */
export interface OidcAccount {
  id: string;
  email: string;
  name: string;
}

/** Where an oidc-provider keeps its tokens and the accounts they speak for. */
export interface OidcStorage {
  adapter: AdapterFactory;
  addAccounts: (accounts: OidcAccount[]) => Promise<void>;
  findAccount: (id: string) => Promise<OidcAccount | undefined>;
  close: () => Promise<void>;
}
