import { decodeHTML } from 'entities';
import { z } from 'zod';
import { labelKey } from '../issue-core/label.ts';
import type { RemoteLabel, TrackerLabels } from './external-tracker.ts';
import { problemOr, TrackerError, type TrackerErrorCode } from './tracker-error.ts';
import { remoteNameSchema } from './tracker-text.ts';
import type { TrackerTransport } from './tracker-transport.ts';

interface LabelPaths {
  /** The path of the labels of the project. */
  project: string;
  issues: string;
}

const labelSchema = z.object({ id: z.int(), name: remoteNameSchema, color: z.string().nullish() });

/** The labels of an issue in responses of GitHub and Gitea. */
export const issueLabelsSchema = z
  .array(
    z.union([
      remoteNameSchema.transform((name) => ({ id: 0, name, color: null })),
      labelSchema.partial({ id: true }),
    ]),
  )
  .nullish();

// GitHub and Gitea return colours without the number sign.
function colorOf(color: string | null | undefined): string | null {
  const [, digits] = /^#?([0-9a-f]{6})$/i.exec(color ?? '') ?? [];
  return digits === undefined ? null : `#${digits.toLowerCase()}`;
}

async function unless(codes: readonly TrackerErrorCode[], request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!(error instanceof TrackerError && codes.includes(error.code))) throw error;
  });
}

/**
 * docs.github.com/rest/issues/labels: adds and removes single labels of an issue, which keeps labels that others add
 * concurrently.
 */
export class GitHubLabels implements TrackerLabels {
  protected readonly transport: TrackerTransport;
  protected readonly paths: LabelPaths;

  constructor(transport: TrackerTransport, paths: LabelPaths) {
    this.transport = transport;
    this.paths = paths;
  }

  // As the last segment of a path, these names would refer to the list of labels or to the issue.
  holds(name: string): boolean {
    return name !== '.' && name !== '..';
  }

  toLabels(labels: z.output<typeof issueLabelsSchema>): RemoteLabel[] {
    return (labels ?? []).map(({ id = 0, name, color }) => ({
      ref: this.refOf({ id, name }),
      name,
      color: colorOf(color),
    }));
  }

  async list(signal: AbortSignal): Promise<RemoteLabel[]> {
    const keep = (label: z.output<typeof labelSchema>) => this.toLabels([label])[0];
    const query = this.pageQuery();
    return this.transport.readPages({ path: this.paths.project, query, item: labelSchema, keep, signal });
  }

  async create({ name, color }: { name: string; color: string }, signal: AbortSignal): Promise<RemoteLabel> {
    const body = { name, color: color.slice(1) };
    // 422: the label was created after the labels were listed.
    await unless(
      ['tracker_rejected'],
      this.transport.send({ method: 'POST', path: this.paths.project, body, signal }),
    );
    return { ref: name, name, color };
  }

  async change(
    id: string,
    { add, remove }: { add: readonly RemoteLabel[]; remove: readonly RemoteLabel[] },
    signal: AbortSignal,
  ): Promise<void> {
    const request = { path: `${this.paths.issues}/${id}/labels`, target: 'issue', signal } as const;
    if (add.length > 0) {
      const body = { labels: add.map(({ ref }) => this.toReference(ref)) };
      await this.transport.send({ ...request, method: 'POST', body });
    }
    for (const { ref } of remove.filter(({ name }) => this.holds(name))) {
      const path = `${request.path}/${encodeURIComponent(ref)}`;
      // The label was removed from the issue or deleted. The issue is read again afterwards.
      await unless(
        ['remote_gone', 'tracker_rejected'],
        this.transport.send({ ...request, method: 'DELETE', path }),
      );
    }
  }

  protected pageQuery(): Record<string, number> {
    return { per_page: 100 };
  }

  protected refOf({ name }: { id: number; name: string }): string {
    return name;
  }

  /** Returns the reference to a label in the body of a request. */
  protected toReference(ref: string): string | number {
    return ref;
  }
}

/**
 * Gitea's routers/api/v1/repo/issue_label.go: refers to labels by id, because older versions and Forgejo do not accept
 * names.
 */
export class GiteaLabels extends GitHubLabels {
  override holds(): boolean {
    return true;
  }

  // Unlike GitHub, Gitea creates a second label with the same name.
  override async create(label: { name: string; color: string }, signal: AbortSignal): Promise<RemoteLabel> {
    const ofOwner = await this.#listOfOwner(signal);
    const existing = ofOwner.find(({ name }) => labelKey(name) === labelKey(label.name));
    if (existing !== undefined) return existing;
    const request = { method: 'POST', path: this.paths.project, body: label, signal } as const;
    const { id } = await this.transport.read(request, labelSchema);
    return { ref: String(id), ...label };
  }

  // Gitea's routers/api/v1/org/label.go: the labels of an organization, which the list of its repository does not
  // contain. 404: a user owns the repository; 403: the token lacks `read:organization`.
  async #listOfOwner(signal: AbortSignal): Promise<RemoteLabel[]> {
    const path = this.paths.project.replace(/\/repos\/([^/]+)\/.*/, '/orgs/$1/labels');
    const keep = (label: z.output<typeof labelSchema>) => this.toLabels([label])[0];
    const request = { path, query: this.pageQuery(), item: labelSchema, keep, signal };
    const labels = await problemOr(this.transport.readPages(request));
    return labels instanceof TrackerError ? [] : labels;
  }

  protected override pageQuery() {
    return { limit: 50 };
  }

  protected override refOf({ id }: { id: number; name: string }): string {
    return String(id);
  }

  protected override toReference(ref: string): number {
    return Number(ref);
  }
}

/**
 * docs.gitlab.com/api/labels, docs.gitlab.com/api/issues: `add_labels` and `remove_labels` keep labels that others add
 * concurrently.
 */
export class GitLabLabels implements TrackerLabels {
  readonly #transport: TrackerTransport;
  readonly #paths: LabelPaths;

  constructor(transport: TrackerTransport, paths: LabelPaths) {
    this.#transport = transport;
    this.#paths = paths;
  }

  // GitLab's app/models/label.rb: rejects a comma. sanitize_value removes HTML, decodes character references and writes
  // U+00A0 as one. A changed name would count as another label.
  holds(name: string): boolean {
    return !/[,\u00a0]|<[a-z/!?]/i.test(name) && decodeHTML(name) === name;
  }

  async list(signal: AbortSignal): Promise<RemoteLabel[]> {
    return this.#transport.readPages({
      path: this.#paths.project,
      query: { per_page: 100 },
      item: labelSchema,
      keep: ({ name, color }) => ({ ref: name, name, color: colorOf(color) }),
      signal,
    });
  }

  async create(label: { name: string; color: string }, signal: AbortSignal): Promise<RemoteLabel> {
    // 409: the label was created after the labels were listed.
    await unless(
      ['tracker_busy'],
      this.#transport.send({ method: 'POST', path: this.#paths.project, body: label, signal }),
    );
    return { ref: label.name, ...label };
  }

  async change(
    id: string,
    { add, remove }: { add: readonly RemoteLabel[]; remove: readonly RemoteLabel[] },
    signal: AbortSignal,
  ): Promise<void> {
    const names = (labels: readonly RemoteLabel[]) => labels.map(({ ref }) => ref).join(',');
    const body = {
      ...(add.length === 0 ? {} : { add_labels: names(add) }),
      ...(remove.length === 0 ? {} : { remove_labels: names(remove) }),
    };
    const path = `${this.#paths.issues}/${id}`;
    await this.#transport.send({ method: 'PUT', path, target: 'issue', body, signal });
  }
}
