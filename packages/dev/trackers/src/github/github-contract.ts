import { attempt, type Operation, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import type { Route } from '../server/protocol-app.ts';
import { type Check, GitHubDescription, type OperationChecks } from './github-description.ts';
import { contractBroken } from './github-errors.ts';

/** Checks the requests and responses of an operation against GitHub's description. */
export class GitHubContract {
  readonly violations: string[] = [];
  readonly #description = GitHubDescription.shared();

  /**
   * A route whose requests and responses are checked.
   * @param path as in the description, with `{…}` for a parameter
   * @param authenticate authenticates the caller; runs first, but an invalid request is recorded all the same
   */
  route(
    method: Route[0],
    path: string,
    authenticate: (call: TrackerRequest) => void,
    operation: Operation,
  ): Route {
    const checks = this.#description.checksOf(method, path);
    const name = `${method.toUpperCase()} ${path}`;
    const checked: Operation = (call) => {
      const problems = requestProblems(checks, call);
      this.#note(`${name} request`, problems);
      const response = attempt((admitted) => {
        authenticate(admitted);
        if (problems.length > 0) throw contractBroken(problems);
        return operation(admitted);
      }, call);
      this.#note(`${name} answer ${response.status}`, this.#answerProblems(checks, response));
      return response;
    };
    return [method, path.replaceAll(/\{(\w+)\}/g, ':$1'), checked];
  }

  #answerProblems({ answers }: OperationChecks, { status, body }: TrackerResponse): string[] {
    // The description lists 401 and some other statuses for no operation, although all can return them.
    const check: Check | undefined = answers.get(status) ?? this.#description.basicError;
    if (answers.has(status) && answers.get(status) === undefined) return [];
    if (status < 300 && !answers.has(status)) return [`${status} is not described`];
    return check(body);
  }

  #note(where: string, problems: readonly string[]): void {
    this.violations.push(...problems.map((problem) => `${where}: ${problem}`));
  }
}

function requestProblems({ parameters, body }: OperationChecks, call: TrackerRequest): string[] {
  // Copies, because the check converts text to numbers in place.
  const problems = parameters({ path: { ...call.params }, query: { ...call.query } });
  if (body === undefined || (call.body === undefined && !body.required)) return problems;
  if (!/^application\/([\w.+-]+\+)?json\b/.test(call.headers['content-type'] ?? ''))
    return [...problems, 'the body is not sent as application/json'];
  return [...problems, ...body.check(call.body)];
}
