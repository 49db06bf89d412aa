export { Fuzzer, type FuzzSettings, type FuzzTarget, fuzzSettings } from './fuzz.ts';
export { ApiSurface, type Operation } from './operation.ts';
export { digestTables, type Sql, type State } from './state.ts';
