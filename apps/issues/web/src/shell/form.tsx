import type { Problem } from '@tessera/contracts';
import { type FormEvent, type InputHTMLAttributes, useEffect, useId, useRef, useState } from 'react';
import { HttpError } from '../http/http.ts';
import { focusIfLost } from './focus.ts';

export interface FormState {
  isBusy: boolean;
  /** Whether the last submission succeeded. */
  isDone: boolean;
  /** The problem that belongs to no field. */
  problem: string;
  problemOf: (field: string) => string | undefined;
  ref: React.RefObject<HTMLFormElement | null>;
  onSubmit: (event: FormEvent<HTMLFormElement>) => void;
}

/**
 * Sends a form. After a refusal, the values stay, each problem is beside its field, and the first of these fields gets the
 * focus.
 * @param send gets the trimmed values by field name
 */
export function useForm(
  send: (values: Record<string, string>, form: HTMLFormElement) => Promise<void>,
): FormState {
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const [failure, setFailure] = useState<{ problem: string; fields: Record<string, string> }>();
  const ref = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure !== undefined) ref.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [failure]);

  const submit = async (form: HTMLFormElement) => {
    const values = [...new FormData(form)].map(([name, value]) => [name, fieldText(name, value)]);
    setBusy(true);
    setDone(false);
    setFailure(undefined);
    try {
      await send(Object.fromEntries(values) as Record<string, string>, form);
      setDone(true);
      // The button loses the focus while it is disabled.
      focusIfLost(() => form.querySelector<HTMLElement>('input, select, textarea'));
    } catch (error) {
      const fields = fieldProblems(error, form);
      const isShown = Object.keys(fields).length > 0;
      setFailure({ problem: isShown ? '' : error instanceof Error ? error.message : 'Try again.', fields });
    } finally {
      setBusy(false);
    }
  };
  return {
    isBusy,
    isDone,
    problem: failure?.problem ?? '',
    problemOf: (field) => failure?.fields[field],
    ref,
    onSubmit: (event) => {
      event.preventDefault();
      if (!isBusy) void submit(event.currentTarget);
    },
  };
}

// The spaces of a password belong to it.
const fieldText = (name: string, value: FormDataEntryValue) =>
  name.includes('password') ? String(value) : String(value).trim();

/** The problems of fields that the form has. */
function fieldProblems(error: unknown, form: HTMLFormElement): Record<string, string> {
  if (!(error instanceof HttpError)) return {};
  const { errors = [] } = error.body as Partial<Problem>;
  // A field may have several values, such as `redirect_uris.0`.
  const named = errors.map(({ field, message }) => [field.split('.')[0] ?? field, message] as const);
  const hasAll = named.every(([name]) => form.elements.namedItem(name) instanceof HTMLInputElement);
  return hasAll ? Object.fromEntries(named) : {};
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  state: FormState;
  label: string;
  name: string;
}

export function Field({ label, state, ...input }: FieldProps) {
  const id = useId();
  const problem = state.problemOf(input.name);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        dir="auto"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        {...input}
      />
      <p id={`${id}-problem`} className="form-problem">
        {problem}
      </p>
    </div>
  );
}

/** The button of a form, with the outcome of the submission. */
export function Submit({ state, name, done }: { state: FormState; name: string; done: string }) {
  return (
    <>
      <p className="form-problem" role="alert">
        {state.problem}
      </p>
      <div className="actions">
        <button type="submit" className="primary" disabled={state.isBusy}>
          {name}
        </button>
        <span role="status" className="muted">
          {state.isDone ? done : ''}
        </span>
      </div>
    </>
  );
}
