import { runService } from '@tessera/service-kit';
import { createApp } from './app.ts';
import { loadConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';

await runService({ service: 'identity', loadConfig, createDependencies, createApp });
