import '../styles/editor.css';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { onKey } from '../shell/keys.ts';
import { MarkdownView } from './markdown-view.tsx';
import { useMentions } from './use-mentions.tsx';

interface MarkdownEditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onSubmit: () => void;
  onCancel?: () => void;
  placeholder?: string;
  rows?: number;
  field?: RefObject<HTMLTextAreaElement | null>;
  fieldId?: string;
  /** Takes the focus when it opens. */
  hasFocus?: boolean;
}

/** A field for Markdown with a preview. Ctrl+Enter sends. */
export function MarkdownEditor(props: MarkdownEditorProps) {
  const {
    label,
    value,
    onChange,
    onSubmit,
    onCancel,
    placeholder,
    rows = 5,
    fieldId,
    hasFocus = false,
  } = props;
  const [isPreview, setPreview] = useState(false);
  const ownField = useRef<HTMLTextAreaElement>(null);
  const field = props.field ?? ownField;
  const mentions = useMentions(field, onChange);
  useEffect(() => {
    if (!hasFocus) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [hasFocus, field]);
  return (
    <div className="editor">
      <div className="editor-tabs">
        <button type="button" aria-pressed={!isPreview} onClick={() => setPreview(false)}>
          Write
        </button>
        <button type="button" aria-pressed={isPreview} onClick={() => setPreview(true)}>
          Preview
        </button>
        <span className="muted wide-only">Markdown</span>
      </div>
      {isPreview ? (
        <div className="editor-preview">
          {value.trim() === '' ? <p className="muted">Nothing to show</p> : <MarkdownView text={value} />}
        </div>
      ) : (
        <textarea
          ref={field}
          id={fieldId}
          aria-label={label}
          dir="auto"
          value={value}
          rows={rows}
          maxLength={65_000}
          placeholder={placeholder}
          onChange={({ target }) => {
            onChange(target.value);
            mentions.look(target);
          }}
          onBlur={mentions.close}
          {...mentions.attributes}
          onKeyDown={onKey((key, event) => {
            const isWithModifier = event.ctrlKey || event.metaKey;
            if (mentions.press(key, isWithModifier)) {
              // The list has taken the key.
            } else if (key === 'Enter' && isWithModifier) onSubmit();
            else if (key === 'Escape' && onCancel !== undefined) onCancel();
            else return;
            event.preventDefault();
            event.stopPropagation();
          })}
        />
      )}
      {mentions.list}
    </div>
  );
}
