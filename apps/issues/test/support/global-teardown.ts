export default async function globalTeardown(): Promise<void> {
  const { stopTestServers } = globalThis as typeof globalThis & { stopTestServers: () => Promise<unknown> };
  await stopTestServers();
}
