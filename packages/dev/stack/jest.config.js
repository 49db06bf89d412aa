import preset from '../../../jest.preset.js';

// These tests mostly wait for the processes that they start.
export default { ...preset, maxWorkers: 3 };
