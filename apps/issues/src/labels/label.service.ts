import {
  type CreateLabel,
  createLabelSchema,
  type FieldError,
  type LabelReference,
  labelsMax,
  type UpdateLabel,
} from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import { type Label, labelKey } from '../issue-core/label.ts';
import { presentLabel } from './label.presenter.ts';
import type { LabelRepository } from './label.repository.ts';

interface LabelServiceDependencies {
  repository: LabelRepository;
  /** Saved lists that name labels. */
  views: { renameLabel(former: string, name: string, within: Transaction): Promise<void> };
}

/** Reads and writes labels. Every active user may read them; staff may write them. */
export class LabelService {
  readonly #repository: LabelRepository;
  readonly #views: LabelServiceDependencies['views'];

  constructor({ repository, views }: LabelServiceDependencies) {
    this.#repository = repository;
    this.#views = views;
  }

  async list(): Promise<Label[]> {
    return this.#repository.list();
  }

  async find(id: string): Promise<Label> {
    return assertFound(await this.#repository.find(id));
  }

  /** Returns the labels with these names or ids, each once. Throws a 422 problem that lists the unknown ones. */
  async resolve(references: readonly LabelReference[], field = 'labels'): Promise<Label[]> {
    const ids = references.flatMap((reference) => (typeof reference === 'string' ? [] : [reference.id]));
    const [byName, identified] = await Promise.all([
      this.#repository.findByNames(references.filter((reference) => typeof reference === 'string')),
      this.#repository.findByIds(ids),
    ]);
    const byId = new Map(identified.map((label) => [label.id, label]));
    const errors: FieldError[] = [];
    const labels = new Map<string, Label>();
    for (const [place, reference] of references.entries()) {
      const isName = typeof reference === 'string';
      const label = isName ? byName.get(labelKey(reference)) : byId.get(reference.id);
      const message = isName ? 'must be the name of a label' : 'must be the id of a label';
      if (label === undefined) errors.push({ field: `${field}.${place}`, message });
      else labels.set(label.id, label);
    }
    if (errors.length > 0) throw validationProblem(errors);
    return [...labels.values()];
  }

  /**
   * Returns the labels with the names of a tracker's labels, by key. Creates missing labels up to `labelsMax`, with the
   * colours that `readColors` returns by key. Omits invalid names.
   */
  async findOrCreate(
    names: readonly string[],
    readColors: () => Promise<ReadonlyMap<string, string>>,
  ): Promise<Map<string, Label>> {
    const known = await this.#repository.findByNames(names);
    const missing = names.filter((name) => !known.has(labelKey(name)));
    if (missing.length === 0) return known;
    const colors = await readColors();
    const drafts = missing.flatMap((name) => {
      const draft = createLabelSchema.safeParse({ name, color: colors.get(labelKey(name)) });
      return draft.success ? [draft.data] : [];
    });
    return this.#repository.change(async (transaction) => {
      const labels = await this.#repository.list(transaction);
      const keys = new Set(labels.map(({ name }) => labelKey(name)));
      for (const draft of drafts) {
        if (keys.size >= labelsMax || keys.has(labelKey(draft.name))) continue;
        keys.add(labelKey(draft.name));
        await this.#repository.insert(draft, transaction);
      }
      return this.#repository.findByNames(names, transaction);
    });
  }

  async create(label: CreateLabel, within?: Transaction): Promise<Label> {
    return this.#repository.change(async (transaction) => {
      const labels = await this.#repository.list(transaction);
      assertUnique(label.name, labels);
      if (labels.length >= labelsMax) {
        const detail = `There are ${labelsMax} labels already.`;
        throw new ProblemError({ status: 409, code: 'too_many_labels', detail });
      }
      return this.#repository.insert(label, transaction);
    }, within);
  }

  /** Changes a label. `assertCurrent` throws if the client's precondition does not match the current label. */
  async update(id: string, change: UpdateLabel, assertCurrent: (label: Label) => void): Promise<Label> {
    return this.#repository.change(async (transaction) => {
      const labels = await this.#repository.list(transaction);
      const label = assertFound(labels.find((one) => one.id === id));
      assertCurrent(label);
      const { name = label.name, color = label.color } = change;
      if (name === label.name && color === label.color) return label;
      assertUnique(
        name,
        labels.filter((other) => other !== label),
      );
      if (name !== label.name) await this.#views.renameLabel(label.name, name, transaction);
      return this.#repository.update({ id, name, color }, transaction);
    });
  }

  async delete(id: string, assertCurrent: (label: Label) => void): Promise<void> {
    await this.#repository.change(async (transaction) => {
      assertCurrent(assertFound(await this.#repository.find(id, transaction)));
      await this.#repository.delete(id, transaction);
    });
  }
}

function assertFound(label: Label | undefined): Label {
  if (label !== undefined) return label;
  throw new ProblemError({ status: 404, code: 'label_not_found', detail: 'There is no such label.' });
}

function assertUnique(name: string, labels: readonly Label[]): void {
  const other = labels.find((label) => labelKey(label.name) === labelKey(name));
  if (other === undefined) return;
  throw new ProblemError({
    status: 409,
    code: 'label_exists',
    detail: 'There is a label with this name already.',
    members: { label: presentLabel(other) },
  });
}
