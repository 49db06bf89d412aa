export * from './discovery.ts';
export * from './identity.ts';
export * from './problem.ts';
export * from './text.ts';
export * from './token.ts';
