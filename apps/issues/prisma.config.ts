import { defineConfig } from 'prisma/config';

// `prisma generate` fetches an engine binary that it never uses; naming any executable stops the download.
// Under this setting `prisma migrate` does nothing: migrations are applied by src/migrate.ts.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

export default defineConfig({ schema: 'prisma/schema.prisma' });
