import preset from '../../../jest.preset.js';

export default { ...preset, maxWorkers: 1 };
