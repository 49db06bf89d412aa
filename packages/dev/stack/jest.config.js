import preset from '../../../jest.preset.js';

// These tests mostly wait for processes of their own.
export default { ...preset, maxWorkers: 3 };
