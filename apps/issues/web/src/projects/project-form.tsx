import { useQueryClient } from '@tanstack/react-query';
import type { Project, ProjectVisibility } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { projectsQuery } from '../http/queries.ts';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { projectProblem } from './project-problem.ts';
import { historyKey, projectQuery } from './project-queries.ts';
import { visibilities, visibilityNames, visibilityTexts } from './visibility.ts';

type Values = Pick<Project, 'key' | 'name' | 'visibility' | 'is_archived'>;

const valuesOf = ({ key, name, visibility, is_archived }: Values): Values => ({
  key,
  name,
  visibility,
  is_archived,
});
const fresh: Values = { key: '', name: '', visibility: 'members', is_archived: false };
const names = ['key', 'name', 'visibility', 'is_archived'] as const;

/** Those of the first values that differ from the second. */
const difference = (values: Values, base: Values): Partial<Values> =>
  Object.fromEntries(names.flatMap((name) => (values[name] === base[name] ? [] : [[name, values[name]]])));

interface ProjectFormProps {
  /** Undefined for a new one. */
  project: Project | undefined;
  onSaved: (saved: Project) => Promise<unknown>;
}

/** Creates or changes a project: its key, its name, who reads it. */
export function ProjectForm({ project, onSaved }: ProjectFormProps) {
  const client = useQueryClient();
  const [base, setBase] = useState(project);
  const [values, setValues] = useState(valuesOf(project ?? fresh));
  const changed = difference(values, base ?? fresh);
  const isChanged = Object.keys(changed).length > 0;
  const show = (next: Project, kept: Partial<Values> = {}) => {
    setBase(next);
    setValues({ ...valuesOf(next), ...kept });
  };
  // Read again, and nothing was typed.
  if (project !== undefined && base !== undefined && project.version > base.version && !isChanged)
    show(project);
  const change = (part: Partial<Values>) => setValues((now) => ({ ...now, ...part }));
  const form = useForm(async () => {
    if (base !== undefined && !isChanged) return;
    try {
      const { key, name, visibility } = values;
      const saved =
        base === undefined
          ? await call('createProject', { body: { key, name, visibility } })
          : await call('updateProject', {
              params: { key: base.key },
              body: { ...changed, version: base.version },
            });
      client.setQueryData(projectQuery(saved.key).queryKey, saved);
      if (base !== undefined) show(saved);
      void client.invalidateQueries({ queryKey: historyKey(saved.key) });
      // Issues have the key and the visibility of their project.
      for (const queryKey of [projectsQuery.queryKey, ['issues'], ['issue']])
        void client.invalidateQueries({ queryKey });
      await onSaved(saved);
    } catch (error) {
      const current = conflicting(error);
      if (current === undefined) throw refusal(error);
      client.setQueryData(projectQuery(current.key).queryKey, current);
      show(current, changed);
      throw new Error(
        'Another person has changed the project meanwhile. Your changes are still here, on the values of now. Save again to keep them.',
      );
    }
  });
  const isDefault = base?.is_default === true;
  return (
    <form ref={form.ref} onSubmit={form.onSubmit} className="project-form">
      <Field
        state={form}
        label="Name"
        name="name"
        required
        maxLength={100}
        value={values.name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <Field
        state={form}
        label="Key"
        name="key"
        required
        maxLength={10}
        pattern="[A-Za-z][A-Za-z0-9]*"
        title="A letter, then letters and digits, at most 10 together"
        autoComplete="off"
        className="project-key-field"
        disabled={isDefault}
        value={values.key}
        onChange={({ target }) => change({ key: target.value.toUpperCase() })}
      />
      <p className="muted">
        {isDefault
          ? 'The key of the default project is a setting of the service, and everyone reads it.'
          : `Its issues have keys such as ${values.key || 'APP'}-42. A key is taken for ever, so that links never break.`}
      </p>
      {!isDefault && (
        <fieldset className="visibilities">
          <legend>Who reads it</legend>
          {visibilities.map((one) => (
            <label key={one} className="check">
              <input
                type="radio"
                name="visibility"
                value={one}
                checked={values.visibility === one}
                onChange={() => change({ visibility: one })}
              />
              <span>
                {visibilityNames[one]}
                <span className="muted">{visibilityTexts[one]}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {base !== undefined && changed.visibility !== undefined && (
        <p className="visibility-note" role="status">
          {narrowing(base.visibility, changed.visibility)}
        </p>
      )}
      {base !== undefined && !isDefault && (
        <label className="check">
          <input
            type="checkbox"
            checked={values.is_archived}
            onChange={({ target }) => change({ is_archived: target.checked })}
          />
          Archived: it takes no further issues
        </label>
      )}
      <Submit state={form} name={base === undefined ? 'Create the project' : 'Save'} done="Saved" />
    </form>
  );
}

/** What a new visibility does to the issues that are there. */
function narrowing(from: ProjectVisibility, to: ProjectVisibility): string {
  return visibilities.indexOf(to) < visibilities.indexOf(from)
    ? 'More people will read all that was written here so far, with the history and the comments.'
    : 'Others lose sight of its issues within seconds of saving, also of those that they watch.';
}

/** The project as another person has changed it, if that is why a change was refused. */
function conflicting(error: unknown): Project | undefined {
  if (!(error instanceof HttpError) || error.code !== 'version_conflict') return undefined;
  return error.body.project as Project;
}

function refusal(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error;
  if (error.code === 'project_key_taken')
    return new HttpError(error.status, {
      errors: [{ field: 'key', message: 'belongs to a project, or belonged to one' }],
    });
  if (error.code === 'too_many_projects') return new Error('There are as many projects as possible.');
  return error.status === 422 ? error : projectProblem(error);
}
