import { appendFileSync } from 'node:fs';

/** A reporter of Jest that appends the duration of each test file to the file in TEST_TIMES. */
export default class FileTimesReporter {
  #file;

  /**
   * @param {unknown} _config
   * @param {{ file: string }} options
   */
  constructor(_config, { file }) {
    this.#file = file;
  }

  /**
   * @param {{ path: string }} test
   * @param {{ perfStats: { runtime: number } }} result
   */
  onTestResult({ path }, { perfStats }) {
    appendFileSync(this.#file, `${(perfStats.runtime / 1000).toFixed(1)} ${path}\n`);
  }
}
