import { type InputHTMLAttributes, type Ref, useId } from 'react';

interface TitleFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  value: string;
  onChange: (title: string) => void;
  ref?: Ref<HTMLInputElement>;
}

const maxLength = 255;
/** The service counts code points, without white space around the title. */
const excessOf = (title: string) => [...title.trim()].slice(maxLength);
const shownExcess = 40;

export const isTooLong = (title: string) => excessOf(title).length > 0;

/** Keeps a title that is too long as it was pasted, and says what is too much. Tabs become blanks. */
export function TitleField({ value, onChange, ...input }: TitleFieldProps) {
  const id = useId();
  const excess = excessOf(value);
  const end = excess.slice(0, shownExcess).join('') + (excess.length > shownExcess ? '…' : '');
  return (
    <>
      <input
        aria-label="Title"
        dir="auto"
        required
        aria-invalid={excess.length > 0}
        aria-describedby={id}
        value={value}
        onChange={({ target }) => {
          const title = target.value.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
          if (title !== target.value) {
            // The caret would move to the end with React's own change.
            const caret = target.selectionStart;
            target.value = title;
            target.setSelectionRange(caret, caret);
          }
          onChange(title);
        }}
        {...input}
      />
      <p id={id} role="alert" className="form-problem">
        {excess.length > 0 &&
          `${excess.length} ${excess.length === 1 ? 'character' : 'characters'} too many: “${end}”. A title has at most ${maxLength}.`}
      </p>
    </>
  );
}
