import '../styles/create.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import { type KeyboardEvent, type RefObject, type SyntheticEvent, useEffect, useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { useFilesFirst } from '../files/use-files-first.ts';
import { call } from '../http/api.ts';
import { notCreated } from '../http/http.ts';
import { issueQuery, labelsQuery, projectsQuery } from '../http/queries.ts';
import { MarkdownEditor } from '../markdown/markdown-editor.tsx';
import { priorities, priorityNames, statusNames } from '../messages.ts';
import { DueField } from '../people/due-field.tsx';
import { PersonPicker } from '../people/person-picker.tsx';
import { Picker } from '../people/picker.tsx';
import { useNewLabel } from '../people/use-new-label.ts';
import { noteProject, usualProject } from '../projects/last-project.ts';
import { projectOption } from '../projects/project-option.tsx';
import { visibilityTexts } from '../projects/visibility.ts';
import { Dialog, focusFirst } from '../shell/dialog.tsx';
import { LabelMark, PriorityMark } from '../shell/icons.tsx';
import { onKey } from '../shell/keys.ts';
import { notify, notifyDone } from '../shell/toasts.tsx';
import { isTooLong, TitleField } from './title-field.tsx';

interface Form {
  title: string;
  description: string;
  priority: IssuePriority;
  assignee: { id: string; name: string } | null;
  labels: string[];
  dueOn: string | null;
  /** The key of the project; undefined until something is typed. */
  project?: string | undefined;
}

const empty: Form = {
  title: '',
  description: '',
  priority: 'MEDIUM',
  assignee: null,
  labels: [],
  dueOn: null,
};
const none = 'none';
const draft = 'new-issue';

/** The whole form is one draft, as JSON. */
function readForm(text: string): Form {
  return text === '' ? empty : { ...empty, ...(JSON.parse(text) as Partial<Form>) };
}

export interface CreateDialogProps {
  /** The title as far as the user has typed it before the dialog was loaded. */
  typed: RefObject<string>;
  onClose: () => void;
  /** That of a column: the new issue is shown there. Without it, the issue is opened. */
  status?: IssueStatus;
  /** The discarded draft is back. */
  onReopen: () => void;
}

export function CreateDialog({ typed, status, onClose, onReopen }: CreateDialogProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: labels = [] } = useQuery(labelsQuery);
  const handle = useDraft(draft, '', 0);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const form = readForm(handle.draft.text);
  const filesFirst = useFilesFirst(form.description);
  const { data: projects } = useQuery(projectsQuery);
  const filter = useLocation({ select: ({ search }) => search.project });
  const [usual] = useState(() => usualProject(filter));
  const wanted = form.project ?? usual;
  const open = projects?.filter(({ is_archived }) => !is_archived) ?? [];
  // A draft stays in its project: in another one, others would read it.
  const project =
    open.find(({ key }) => key === wanted) ??
    (form.project === undefined ? open.find(({ is_default }) => is_default) : undefined);
  const isLost = projects !== undefined && project === undefined;
  const change = (part: Partial<Form>) =>
    handle.setText(JSON.stringify({ ...form, project: form.project ?? project?.key ?? usual, ...part }));

  // biome-ignore lint/correctness/useExhaustiveDependencies: once
  useEffect(() => {
    if (typed.current !== '') change({ title: form.title + typed.current });
    typed.current = '';
  }, []);
  const createLabel = useNewLabel(({ id }) => {
    // The user has typed on.
    const now = readForm(handle.latest());
    handle.setText(JSON.stringify({ ...now, labels: [...now.labels, id] }));
  });

  const submit = async (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (isBusy || form.title.trim() === '' || isTooLong(form.title)) return;
    if (isLost) return setProblem('You no longer see the project of this draft. Choose another one.');
    const { title, priority, assignee } = form;
    setBusy(true);
    setProblem('');
    try {
      const description = await filesFirst.complete(form.description);
      if (description === undefined) return setBusy(false);
      if (description !== form.description) change({ description });
      const text = handle.latest();
      const members = { title, description, priority, labels: form.labels.map((id) => ({ id })) };
      // A repetition after a lost response creates no second issue.
      const idempotencyKey = await handle.sendingKey();
      const body = {
        ...members,
        assignee_id: assignee?.id ?? null,
        due_on: form.dueOn,
        // As the draft has it, which a repetition sends again. Without one, the projects were not known: the default one.
        ...(form.project !== undefined && { project: form.project }),
      };
      const issue = await call('createIssue', { body, idempotencyKey });
      handle.sent(text);
      noteProject(issue.project.key);
      client.setQueryData(issueQuery(issue.key).queryKey, issue);
      void client.invalidateQueries({ queryKey: ['issues'] });
      onClose();
      if (status === undefined) return await navigate({ to: '/issues/$key', params: { key: issue.key } });
      if (status !== issue.status)
        await call('changeIssueStatus', {
          params: { id: issue.key },
          body: { status, version: issue.version },
        }).catch(() => notify(`${issue.key} is open: its status was not changed.`));
      void client.invalidateQueries({ queryKey: ['issues'] });
      notifyDone(`${issue.key} created`);
    } catch (error) {
      setProblem(notCreated('The issue', 'created', error));
      setBusy(false);
    }
  };

  return (
    <Dialog
      title={status === undefined ? 'New issue' : `New issue in ${statusNames[status]}`}
      onClose={onClose}
      isWide
    >
      <form
        className="create-form"
        onSubmit={(event) => void submit(event)}
        onKeyDown={onKey((key, event: KeyboardEvent) => {
          if (key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit(event);
        })}
      >
        <TitleField
          ref={focusFirst}
          placeholder="Title"
          className="title-input"
          value={form.title}
          onChange={(title) => change({ title })}
        />
        <MarkdownEditor
          label="Description"
          placeholder="Description"
          rows={8}
          draft={draft}
          value={form.description}
          onChange={(description) => change({ description })}
          onSubmit={() => void submit()}
        />
        <div className="create-fields">
          {(open.length > 1 || isLost) && (
            <Picker
              label="Project"
              summary={project === undefined ? 'Choose a project' : projectOption(project).content}
              options={open.map(projectOption)}
              selected={project === undefined ? [] : [project.key]}
              onChange={([key]) => change({ project: key })}
            />
          )}
          <Picker
            label="Priority"
            summary={<PriorityMark priority={form.priority} hasText />}
            options={priorities.map((value) => ({
              value,
              name: priorityNames[value],
              content: <PriorityMark priority={value} hasText />,
            }))}
            selected={[form.priority]}
            onChange={([priority]) => change({ priority: priority as IssuePriority })}
          />
          <PersonPicker
            label="Assignee"
            summary={form.assignee?.name ?? 'Assignee'}
            first={[{ value: none, name: 'No one' }]}
            selected={[form.assignee?.id ?? none]}
            onChange={([value], people) => {
              const person = people.find(({ id }) => id === value);
              change({ assignee: person ? { id: person.id, name: person.name ?? person.username } : null });
            }}
          />
          <Picker
            label="Labels"
            summary={
              form.labels.length === 0
                ? 'Labels'
                : labels
                    .filter(({ id }) => form.labels.includes(id))
                    .map((one) => <LabelMark key={one.id} {...one} />)
            }
            options={labels.map(({ id, name, color }) => ({
              value: id,
              name,
              content: <LabelMark name={name} color={color} />,
            }))}
            selected={form.labels}
            isMultiple
            onCreate={createLabel}
            onChange={(ids) => change({ labels: ids })}
          />
          <span className="create-due muted">
            Due
            <DueField day={form.dueOn} onChange={(dueOn) => change({ dueOn })} />
          </span>
        </div>
        {project !== undefined && project.visibility !== 'everyone' && (
          <p className="muted">{visibilityTexts[project.visibility]}</p>
        )}
        <p className="form-problem" role="alert">
          {filesFirst.problem || problem}
        </p>
        <div className="actions end">
          <span className="muted" role="status">
            {draftNote(handle)}
          </span>
          <button
            type="button"
            onClick={() => {
              handle.discard(onReopen);
              onClose();
            }}
          >
            Discard
          </button>
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create issue'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
