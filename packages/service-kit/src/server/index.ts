export { closeInStages } from './client-error.ts';
export { IncomingBodies } from './incoming-bodies.ts';
export { createHttpServer, defaultHttpTimeouts, type HttpTimeouts, serve } from './serve.ts';
