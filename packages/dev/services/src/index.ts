export { Balancer } from './balancer.ts';
export { searchPath } from './environment.ts';
export { httpClient } from './http-client.ts';
export { migrate, Service, type ServiceName } from './service.ts';
export { SigningKeys } from './signing-keys.ts';
export { first, type Stack, type StackOptions, startStack } from './stack.ts';
