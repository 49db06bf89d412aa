// Loaded into a service (`node --expose-gc --import`): tells its parent how much is still held after a collection.
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
// The parent's being there keeps nobody alive.
process.channel?.unref();
