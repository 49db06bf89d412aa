// Keeps the keys of a key set fresh and does nothing else.
import { RemoteKeySource } from '../../src/index.ts';

const source = new RemoteKeySource({ jwksUri: process.argv[2] ?? '' });
const { ready } = await source.start();
process.stdout.write(ready ? 'ready' : 'not ready');
