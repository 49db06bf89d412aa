// Loaded into a service (`node --expose-gc --import`): reports the heap after a garbage collection to the parent.
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
// The channel to the parent must not keep the process alive.
process.channel?.unref();
