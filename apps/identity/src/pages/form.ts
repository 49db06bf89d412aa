import { type Html, html } from './html.ts';

/** The hidden fields of a form. */
export function hiddenFields(fields: ReadonlyArray<readonly [string, string]>): Html {
  return html`${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}`;
}

interface FieldParts {
  name: string;
  label: string;
  kind: 'email' | 'password';
  autocomplete: 'username' | 'current-password' | 'new-password';
  value?: string;
  isReadOnly?: boolean;
  hint?: string;
  /** Whether the page opens with the focus in this field. */
  hasFocus?: boolean;
  /** Whether the page has an error. A screen reader reads it with the field that has the focus. */
  hasError: boolean;
  /** Whether the error is about this field. */
  isInvalid?: boolean;
}

const errorId = 'error';

export function field(parts: FieldParts): Html {
  const { name, label, kind, autocomplete, value, hint } = parts;
  const { isReadOnly = false, hasFocus = false, hasError, isInvalid = false } = parts;
  const id = `${name}-field`;
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const describing = [hasError && (hasFocus || isInvalid) ? errorId : undefined, hintId].filter(Boolean);
  const input = attributes({
    id,
    name,
    // Browsers refuse a local part beyond ASCII in a field of type email.
    type: kind === 'email' ? 'text' : 'password',
    inputmode: kind === 'email' ? 'email' : undefined,
    dir: kind === 'email' ? 'auto' : undefined,
    autocomplete,
    autocapitalize: 'none',
    spellcheck: 'false',
    value,
    'aria-invalid': isInvalid ? 'true' : undefined,
    'aria-describedby': describing.length > 0 ? describing.join(' ') : undefined,
    required: true,
    readonly: isReadOnly,
    autofocus: hasFocus,
  });
  return html`<div class="field">
<label for="${id}">${label}</label>
<input${input}>
${hint !== undefined && html`<p class="hint" id="${hintId}">${hint}</p>`}
</div>
`;
}

/** Writes the attributes that have a value. */
function attributes(values: Readonly<Record<string, string | boolean | undefined>>): Html {
  return html`${Object.entries(values).map(
    ([name, value]) =>
      value !== undefined && value !== false && (value === true ? html` ${name}` : html` ${name}="${value}"`),
  )}`;
}

export function errorMessage(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p class="error" id="${errorId}" role="alert">${text}</p>`;
}
