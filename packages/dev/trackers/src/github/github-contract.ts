import { type Answer, attempt, type Call, type Operation } from '../server/exchange.ts';
import type { Route } from '../server/protocol-app.ts';
import { type Check, GitHubDescription, type OperationChecks } from './github-description.ts';
import { contractBroken } from './github-errors.ts';

/** Holds what goes through an operation against GitHub's description of it, in both directions. */
export class GitHubContract {
  readonly violations: string[] = [];
  readonly #description = GitHubDescription.shared();

  /**
   * A route whose requests and answers are checked.
   * @param path as the description writes it, `{…}` for a parameter
   * @param admit refuses callers; runs first, but does not keep a broken request from being recorded
   */
  route(method: Route[0], path: string, admit: (call: Call) => void, operation: Operation): Route {
    const checks = this.#description.checksOf(method, path);
    const name = `${method.toUpperCase()} ${path}`;
    const checked: Operation = (call) => {
      const problems = requestProblems(checks, call);
      this.#note(`${name} request`, problems);
      const answer = attempt((admitted) => {
        admit(admitted);
        if (problems.length > 0) throw contractBroken(problems);
        return operation(admitted);
      }, call);
      this.#note(`${name} answer ${answer.status}`, this.#answerProblems(checks, answer));
      return answer;
    };
    return [method, path.replaceAll(/\{(\w+)\}/g, ':$1'), checked];
  }

  #answerProblems({ answers }: OperationChecks, { status, body }: Answer): string[] {
    // 401, and a few more that any operation can answer, are described for none.
    const check: Check | undefined = answers.get(status) ?? this.#description.basicError;
    if (answers.has(status) && answers.get(status) === undefined) return [];
    if (status < 300 && !answers.has(status)) return [`${status} is not described`];
    return check(body);
  }

  #note(where: string, problems: readonly string[]): void {
    this.violations.push(...problems.map((problem) => `${where}: ${problem}`));
  }
}

function requestProblems({ parameters, body }: OperationChecks, call: Call): string[] {
  // The check turns text into numbers in place, so it is given copies.
  const problems = parameters({ path: { ...call.params }, query: { ...call.query } });
  if (body === undefined || (call.body === undefined && !body.required)) return problems;
  if (!/^application\/([\w.+-]+\+)?json\b/.test(call.headers['content-type'] ?? ''))
    return [...problems, 'the body is not sent as application/json'];
  return [...problems, ...body.check(call.body)];
}
