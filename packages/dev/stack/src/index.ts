export {
  type Pooler,
  patientLimits,
  searchPath,
  testNodeArguments,
  testPooler,
  withVariables,
} from './environment.ts';
export { Balancer } from './test-stack/balancer.ts';
export { httpClient } from './test-stack/http-client.ts';
export { migrate, Service, type ServiceName } from './test-stack/service.ts';
export { SigningKeys } from './test-stack/signing-keys.ts';
export { createTemplates, first, type Stack, type StackOptions, startStack } from './test-stack/stack.ts';
