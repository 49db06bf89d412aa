export default async function globalTeardown(): Promise<void> {
  const { testPostgres } = globalThis as typeof globalThis & { testPostgres: { stop: () => Promise<void> } };
  await testPostgres.stop();
}
